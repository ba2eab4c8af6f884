// Conversions and moves, each against the host at edge values.
#include <algorithm>
#include <array>
#include <cfenv>
#include <cmath>

#include "sim/instruction.hpp"

namespace softmax_dispatch::sim {
namespace {

template <typename T>
std::string name_of() {
  if constexpr (std::is_same_v<T, float>) return ".f32";
  if constexpr (std::is_same_v<T, double>) return ".f64";
  if constexpr (std::is_same_v<T, Half>) return ".f16";
  if constexpr (std::is_integral_v<T>) return fmt::format(".{}{}", std::is_signed_v<T> ? 's' : 'u', 8 * sizeof(T));
}

template <typename F>
void for_each_integer(F f) {
  f(std::uint16_t{}), f(std::int16_t{}), f(std::uint32_t{}), f(std::int32_t{}), f(std::uint64_t{}), f(std::int64_t{});
}

TEST(ConvertInstructions, BetweenIntegers) {
  for_each_integer([]<typename S>(S) {
    for_each_integer([]<typename D>(D) {
      expect_instruction<D>("cvt" + name_of<D>() + name_of<S>() + " %d, %a;", singles(edges<S>()),
                            [](S a) { return static_cast<D>(a); });
      expect_instruction<D>("cvt.sat" + name_of<D>() + name_of<S>() + " %d, %a;", singles(edges<S>()), [](S a) {
        if (std::cmp_less(a, std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
        if (std::cmp_greater(a, std::numeric_limits<D>::max())) return std::numeric_limits<D>::max();
        return static_cast<D>(a);
      });
    });
  });
  // Types narrower than their registers.
  expect_instruction<std::uint32_t>("cvt.u32.u8 %d, %a;", singles(edges<std::uint32_t>()),
                                    [](std::uint32_t a) { return a & 0xff; });
  expect_instruction<std::int32_t>("cvt.s32.s8 %d, %a;", singles(edges<std::int32_t>()),
                                   [](std::int32_t a) { return std::int32_t{static_cast<std::int8_t>(a)}; });
  expect_instruction<std::uint32_t>("cvt.sat.u8.s32 %d, %a;", singles(edges<std::uint32_t>()), [](std::uint32_t a) {
    return static_cast<std::uint32_t>(std::clamp(static_cast<std::int32_t>(a), 0, 255));
  });
}

const std::array<std::pair<const char*, int>, 4> kModes{
    {{"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}}};

template <typename F>
auto in_mode(int mode, F f) {
  const int before = std::fegetround();
  std::fesetround(mode);
  const auto result = f();
  std::fesetround(before);
  return result;
}

TEST(ConvertInstructions, IntegersToFloats) {
  for_each_integer([]<typename S>(S) {
    for (const auto& [mode, host] : kModes) {
      expect_instruction<float>(std::string("cvt.") + mode + ".f32" + name_of<S>() + " %d, %a;", singles(edges<S>()),
                                [&, host = host](S a) {
                                  return in_mode(host, [&] {
                                    volatile S x = a;
                                    return static_cast<float>(x);
                                  });
                                });
    }
    expect_instruction<double>("cvt.rn.f64" + name_of<S>() + " %d, %a;", singles(edges<S>()),
                               [](S a) { return static_cast<double>(a); });
  });
}

/// NaN gives zero, and what is out of range the nearest value in it.
template <typename D, typename S>
D clamped(S whole) {
  if (std::isnan(whole)) return 0;
  if (whole >= std::ldexp(S{1}, std::numeric_limits<D>::digits)) return std::numeric_limits<D>::max();
  if (whole < static_cast<S>(std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
  return static_cast<D>(whole);
}

template <typename S>
void expect_to_integers() {
  for_each_integer([]<typename D>(D) {
    for (const auto& [mode, host] : kModes) {
      std::vector<S> inputs = edges<S>();
      for (const float one : {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 254.5f, 32767.5f, -32768.5f, 65535.5f})
        inputs.push_back(one);
      expect_instruction<D>(std::string("cvt.") + mode + "i" + name_of<D>() + name_of<S>() + " %d, %a;",
                            singles(inputs), [&, host = host](S a) {
                              return in_mode(host, [&] {
                                volatile S x = a;
                                return clamped<D>(std::nearbyint(x));
                              });
                            });
    }
  });
}

TEST(ConvertInstructions, FloatsToIntegers) {
  expect_to_integers<float>();
  expect_to_integers<double>();
}

TEST(ConvertInstructions, BetweenFloats) {
  for (const auto& [mode, host] : kModes) {
    expect_instruction<float>(std::string("cvt.") + mode + ".f32.f64 %d, %a;", singles(edges<double>()),
                              [&, host = host](double a) {
                                return in_mode(host, [&] {
                                  volatile double x = a;
                                  return static_cast<float>(x);
                                });
                              });
    expect_instruction<float>(std::string("cvt.") + mode + "i.f32.f32 %d, %a;", singles(edges<float>()),
                              [&, host = host](float a) {
                                return in_mode(host, [&] {
                                  volatile float x = a;
                                  return std::nearbyint(x);
                                });
                              });
  }
  expect_instruction<double>("cvt.f64.f32 %d, %a;", singles(edges<float>()), [](float a) { return double{a}; });
  expect_instruction<float>("cvt.sat.f32.f32 %d, %a;", singles(edges<float>()),
                            [](float a) { return a > 0 ? std::min(a, 1.0f) : 0.0f; });
  std::vector<float> numbers = edges<float>();
  std::erase_if(numbers, [](float a) { return std::isnan(a); });
  expect_instruction<float>("cvt.ftz.f32.f32 %d, %a;", singles(numbers),
                            [](float a) { return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.0f, a) : a; });
}

/// The value of a 16-bit float with `mantissa` bits, by its definition.
double half_value(std::uint16_t bits, int mantissa) {
  const int exponent_bits = 15 - mantissa, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7fff) >> mantissa, fraction = bits & ((1 << mantissa) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - mantissa);
  return sign * std::ldexp((1 << mantissa) + fraction, exponent - bias - mantissa);
}

/// The half that a mode rounds to, found among all of them.
std::uint16_t nearest_half(double x, int mantissa, const std::string& mode) {
  if (std::isnan(x)) return 0x7fff;
  const auto infinity = static_cast<std::uint16_t>(0x7fff >> mantissa << mantissa);
  std::uint16_t below = 0;  // the largest magnitude that is not above |x|
  for (int step = 0x4000; step > 0; step /= 2) {
    const auto candidate = static_cast<std::uint16_t>(below + step);
    if (candidate <= infinity && half_value(candidate, mantissa) <= std::abs(x)) below = candidate;
  }
  const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (half_value(below, mantissa) == std::abs(x)) return below | sign;
  const auto above = static_cast<std::uint16_t>(below + 1);
  // For rounding, infinity stands where the next power of two would.
  const double top = above == infinity ? std::ldexp(1.0, 1 << (14 - mantissa)) : half_value(above, mantissa);
  const double half_way = (half_value(below, mantissa) + top) / 2;
  bool up = std::abs(x) > half_way || (std::abs(x) == half_way && (below & 1));
  if (mode == "rz") up = false;
  if (mode == "rm") up = sign != 0;
  if (mode == "rp") up = sign == 0;
  return static_cast<std::uint16_t>((up ? above : below) | sign);
}

std::vector<float> around_halves() {
  std::vector<float> values = edges<float>();
  for (const int bits : {0, 1, 2, 0x3ff, 0x400, 0x401, 0x3bff, 0x3c00, 0x3c01, 0x7bfe, 0x7bff}) {
    const auto value = static_cast<float>(half_value(static_cast<std::uint16_t>(bits), 10));
    const auto next = static_cast<float>(half_value(static_cast<std::uint16_t>(bits + 1), 10));
    const float middle = bits == 0x7bff ? 65520.0f : (value + next) / 2;
    for (const float one : {value, middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f)}) {
      values.push_back(one);
      values.push_back(-one);
    }
  }
  return values;
}

TEST(ConvertInstructions, Halves) {
  std::vector<Half> all;
  for (int bits = 0; bits < 0x10000; ++bits) all.push_back({static_cast<std::uint16_t>(bits)});
  expect_instruction<float>("cvt.f32.f16 %d, %a;", singles(all),
                            [](Half a) { return static_cast<float>(half_value(a.bits, 10)); });
  expect_instruction<double>("cvt.f64.f16 %d, %a;", singles(all), [](Half a) { return half_value(a.bits, 10); });
  expect_instruction<float>("cvt.f32.bf16 %d, %a;", singles(all),
                            [](Half a) { return static_cast<float>(half_value(a.bits, 7)); });
  for (const auto& [mode, host] : kModes) {
    const std::string name = mode;
    const auto expect_rounds = [&](const std::string& type, int mantissa) {
      expect_instruction<Half>("cvt." + name + type + ".f32 %d, %a;", singles(around_halves()),
                               [&](float a) { return Half{nearest_half(a, mantissa, name)}; });
    };
    expect_rounds(".f16", 10);
    expect_rounds(".bf16", 7);
    expect_instruction<Half>("cvt." + name + ".f16.s32 %d, %a;", singles(edges<std::int32_t>()),
                             [&](std::int32_t a) { return Half{nearest_half(a, 10, name)}; });
  }
  expect_instruction<std::uint32_t>(
      "cvt.rn.f16x2.f32 %d, %a, %b;", pairs(edges<float>(), edges<float>()),
      [](float a, float b) { return std::uint32_t{nearest_half(a, 10, "rn")} << 16 | nearest_half(b, 10, "rn"); });
}

std::vector<Half> some_halves() {
  std::vector<Half> values;
  for (const int bits : {0, 1, 0x3ff, 0x400, 0x3555, 0x3c00, 0x3c01, 0x4248, 0x7bff, 0x7c00, 0x7e00}) {
    values.push_back({static_cast<std::uint16_t>(bits)});
    values.push_back({static_cast<std::uint16_t>(bits | 0x8000)});
  }
  return values;
}

TEST(ConvertInstructions, HalfArithmetic) {
  const auto value = [](Half a) { return half_value(a.bits, 10); };
  const auto rounded = [](double x) { return Half{nearest_half(x, 10, "rn")}; };
  const auto two = pairs(some_halves(), some_halves());
  expect_instruction<Half>("add.f16 %d, %a, %b;", two, [&](Half a, Half b) { return rounded(value(a) + value(b)); });
  expect_instruction<Half>("sub.rn.f16 %d, %a, %b;", two, [&](Half a, Half b) { return rounded(value(a) - value(b)); });
  expect_instruction<Half>("mul.f16 %d, %a, %b;", two, [&](Half a, Half b) { return rounded(value(a) * value(b)); });
  // long double holds the exact result: 22 bits of product and a distance of up to 2^40.
  expect_instruction<Half>(
      "fma.rn.f16 %d, %a, %b, %c;", triples(some_halves(), some_halves(), some_halves()), [&](Half a, Half b, Half c) {
        const long double exact = static_cast<long double>(value(a)) * value(b) + value(c);
        const auto near = static_cast<double>(exact);
        const bool beyond = std::abs(near) > std::abs(exact);
        return rounded(near == exact || std::isnan(near) ? near : std::nextafter(near, beyond ? 0 : near * 2));
      });
  expect_instruction<std::uint32_t>("setp.lt.f16 %pd, %a, %b;", two,
                                    [&](Half a, Half b) { return std::uint32_t{value(a) < value(b)}; });
  // Packed: the same on both halves of a word.
  std::vector<std::uint32_t> words;
  for (const auto& [low, high] : two) words.push_back(std::uint32_t{high.bits} << 16 | low.bits);
  expect_instruction<std::uint32_t>(
      "add.f16x2 %d, %a, %b;", pairs(std::vector(words.begin(), words.begin() + 40), words),
      [&](std::uint32_t a, std::uint32_t b) {
        const auto part = [&](std::uint32_t word, int shift) {
          return value({static_cast<std::uint16_t>(word >> shift)});
        };
        return std::uint32_t{rounded(part(a, 16) + part(b, 16)).bits} << 16 | rounded(part(a, 0) + part(b, 0)).bits;
      });
}

TEST(ConvertInstructions, MovesBetweenVectorsAndScalars) {
  using U = std::uint32_t;
  const auto words = pairs(edges<U>(), edges<U>());
  expect_instruction<std::uint64_t>("mov.b64 %d, {%a, %b};", words,
                                    [](U a, U b) { return std::uint64_t{b} << 32 | a; });
  expect_instruction<U>("{ .reg .b64 %x; mov.b64 %x, {%a, %b}; mov.b64 {_, %d}, %x; }", words,
                        [](U, U b) { return b; });
  expect_instruction<U>("{ .reg .b64 %x; mov.b64 %x, {%a, %b}; mov.b64 {%d, _}, %x; }", words,
                        [](U a, U) { return a; });
  expect_instruction<U>("{ .reg .b16 %x, %y; mov.b32 {%x, %y}, %a; mov.b32 %d, {%y, %x}; }", singles(edges<U>()),
                        [](U a) { return a << 16 | a >> 16; });
  expect_instruction<std::uint64_t>(
      "{ .reg .b16 %w, %x, %y, %z; .reg .b64 %q; mov.b64 %q, {%a, %b}; mov.b64 {%w, %x, %y, %z}, %q; mov.b64 %d, {%z, "
      "%y, %x, %w}; }",
      words, [](U a, U b) {
        const auto swapped = [](U x) { return std::uint64_t{x << 16 | x >> 16}; };
        return swapped(a) << 32 | swapped(b);
      });
  expect_instruction<U>("mov.u32 %d, 0xfffffffe;", singles(std::vector<U>{0}), [](U) { return 0xfffffffeu; });
  expect_instruction<float>("mov.f32 %d, 0f3FC00000;", singles(std::vector<U>{0}), [](U) { return 1.5f; });
  expect_instruction<float>("add.f32 %d, %a, 2.5;", singles(std::vector<float>{1}), [](float a) { return a + 2.5f; });
  expect_instruction<double>("mov.f64 %d, 0dC000000000000000;", singles(std::vector<U>{0}), [](U) { return -2.0; });
  expect_instruction<std::int32_t>("add.s32 %d, %a, -7;", singles(std::vector<std::int32_t>{3}),
                                   [](std::int32_t a) { return a - 7; });
}

}  // namespace
}  // namespace softmax_dispatch::sim
