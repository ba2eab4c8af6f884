// Conversions in all generality. `extra` is the rounding and the flags kSaturate and kToInteger.
#include "device/sim/lanes/instruction_sets.hpp"

namespace softmax_dispatch::sim::lanes {
namespace {

#include "device/sim/lanes/halves.inc"
#include "device/sim/lanes/types.inc"

inline f64 as_double(f16 x) {
  return widened(x);
}
inline f64 as_double(bf16 x) {
  return widened(x);
}
template <typename T>
f64 as_double(T x) {
  return static_cast<f64>(x);
}

inline Round round_of(Extra extra) {
  return static_cast<Round>(extra.value & 3);
}

inline f64 to_integral(f64 x, Round round) {
  switch (round) {
    case Round::nearest:
      return __builtin_rint(x);
    case Round::zero:
      return __builtin_trunc(x);
    case Round::down:
      return __builtin_floor(x);
    default:
      return __builtin_ceil(x);
  }
}

inline f32 rounded(Exact exact, Round round) {
  switch (round) {
    case Round::nearest:
      return rounded<Round::nearest>(exact);
    case Round::zero:
      return rounded<Round::zero>(exact);
    case Round::down:
      return rounded<Round::down>(exact);
    default:
      return rounded<Round::up>(exact);
  }
}

/// The float nearest to an exact value, in any float type. To double only the nearest is right.
template <typename D>
D real_of(Exact exact, Extra extra) {
  if (extra.value & kSaturate) exact = {clamped(exact.value), 0.0};
  if constexpr (std::is_same_v<D, f64>) return canonical(exact.value);
  if constexpr (std::is_same_v<D, f32>) return rounded(exact, round_of(extra));
  if constexpr (std::is_same_v<D, f16>) return half_of(round_to_odd(exact), round_of(extra));
  if constexpr (std::is_same_v<D, bf16>) return brain_of(round_to_odd(exact), round_of(extra));
}

/// NaN gives zero; what is out of range the nearest value in it.
template <typename D>
D integer_of(f64 x, Round round) {
  constexpr f64 kEnd = 2.0 * static_cast<f64>(D{1} << (8 * sizeof(D) - 2)) * (std::is_signed_v<D> ? 1 : 2);
  const f64 whole = to_integral(x, round);
  if (x != x) return 0;
  if (whole >= kEnd) return std::numeric_limits<D>::max();
  if (whole < (std::is_signed_v<D> ? -kEnd : 0)) return std::numeric_limits<D>::min();
  return static_cast<D>(whole);
}

/// An integer of up to 64 bits as its two halves, each exact in a double.
template <typename S>
Exact exact_integer(S x) {
  constexpr f64 kTwo32 = 0x1p32;
  const s64 high = std::is_signed_v<S> ? static_cast<s64>(x) >> 32 : static_cast<s64>(static_cast<u64>(x) >> 32);
  const u32 low = static_cast<u32>(x);
  return exact_sum(static_cast<f64>(high) * kTwo32, low);
}

template <typename D, typename S>
D saturated_integer(S x) {
  if (std::cmp_less(x, std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
  if (std::cmp_greater(x, std::numeric_limits<D>::max())) return std::numeric_limits<D>::max();
  return static_cast<D>(x);
}

template <typename F>
void for_each_real(F f) {
  f(Named<f16>{"f16"}), f(Named<bf16>{"bf16"}), f(Named<f32>{"f32"}), f(Named<f64>{"f64"});
}

}  // namespace

void add_conversions(Table& table) {
  for_each_integer([&]<typename S>(Named<S> s) {
    for_each_integer([&]<typename D>(Named<D> d) {
      add(table, conversion(d, s) + ".sat", [](S x) -> D { return saturated_integer<D>(x); });
    });
    for_each_real([&]<typename D>(Named<D> d) {
      add(table, conversion(d, s), [](S x, Extra extra) -> D { return real_of<D>(exact_integer(x), extra); });
    });
  });
  for_each_real([&]<typename S>(Named<S> s) {
    for_each_integer([&]<typename D>(Named<D> d) {
      add(table, conversion(d, s), [](S x, Extra extra) -> D { return integer_of<D>(as_double(x), round_of(extra)); });
    });
    for_each_real([&]<typename D>(Named<D> d) {
      add(table, conversion(d, s), [](S x, Extra extra) -> D {
        const f64 value = as_double(x);
        const bool integral = extra.value & kToInteger;
        return real_of<D>({integral ? to_integral(value, round_of(extra)) : value, 0.0}, extra);
      });
    });
  });
}

}  // namespace softmax_dispatch::sim::lanes
