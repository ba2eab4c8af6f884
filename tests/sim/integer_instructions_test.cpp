// Integer instructions, each against the host's arithmetic at edge values.
#include <algorithm>
#include <array>
#include <bit>

#include "sim/instruction.hpp"

namespace softmax_dispatch::sim {
namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

template <typename T>
std::string type_name() {
  return fmt::format(".{}{}", std::is_signed_v<T> ? 's' : 'u', 8 * sizeof(T));
}
template <typename T>
std::string bits_name() {
  return fmt::format(".b{}", 8 * sizeof(T));
}
/// The value modulo 2^bits.
template <typename T>
T wrap(Wide value) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(value));
}

template <typename T>
class IntegerInstructions : public testing::Test {
 protected:
  template <typename F>
  void binary(const std::string& instruction, F expected) {
    expect_instruction<T>(instruction + type_name<T>() + " %d, %a, %b;", pairs(edges<T>(), edges<T>()), expected);
  }
  template <typename F>
  void compare(const std::string& comparison, F expected) {
    expect_instruction<std::uint32_t>("setp." + comparison + type_name<T>() + " %pd, %a, %b;",
                                      pairs(edges<T>(), edges<T>()),
                                      [&](T a, T b) { return std::uint32_t{expected(a, b)}; });
  }
};
using IntegerTypes =
    testing::Types<std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, std::uint64_t, std::int64_t>;
TYPED_TEST_SUITE(IntegerInstructions, IntegerTypes);

TYPED_TEST(IntegerInstructions, Arithmetic) {
  using T = TypeParam;
  this->binary("add", [](T a, T b) { return wrap<T>(Wide{a} + b); });
  this->binary("sub", [](T a, T b) { return wrap<T>(Wide{a} - b); });
  this->binary("mul.lo", [](T a, T b) {
    return wrap<T>(static_cast<Wide>(static_cast<UnsignedWide>(Wide{a}) * static_cast<UnsignedWide>(Wide{b})));
  });
  this->binary("mul.hi", [](T a, T b) { return wrap<T>((Wide{a} * Wide{b}) >> (8 * sizeof(T))); });
  this->binary("min", [](T a, T b) { return std::min(a, b); });
  this->binary("max", [](T a, T b) { return std::max(a, b); });
  expect_instruction<T>(
      "mad.lo" + type_name<T>() + " %d, %a, %b, %c;", triples(edges<T>(), edges<T>(), edges<T>()), [](T a, T b, T c) {
        return wrap<T>(static_cast<Wide>(static_cast<UnsignedWide>(Wide{a}) * static_cast<UnsignedWide>(Wide{b})) + c);
      });
  expect_instruction<T>("mad.hi" + type_name<T>() + " %d, %a, %b, %c;", triples(edges<T>(), edges<T>(), edges<T>()),
                        [](T a, T b, T c) { return wrap<T>(((Wide{a} * Wide{b}) >> (8 * sizeof(T))) + c); });
  expect_instruction<T>("sad" + type_name<T>() + " %d, %a, %b, %c;", triples(edges<T>(), edges<T>(), edges<T>()),
                        [](T a, T b, T c) { return wrap<T>(Wide{c} + (a < b ? Wide{b} - a : Wide{a} - b)); });
}

TYPED_TEST(IntegerInstructions, DivisionByWhatIsNotZero) {
  using T = TypeParam;
  std::vector<std::tuple<T, T>> inputs;
  for (const auto& one : pairs(edges<T>(), edges<T>())) {
    if (std::get<1>(one) != 0) inputs.push_back(one);
  }
  expect_instruction<T>("div" + type_name<T>() + " %d, %a, %b;", inputs, [](T a, T b) { return wrap<T>(Wide{a} / b); });
  expect_instruction<T>("rem" + type_name<T>() + " %d, %a, %b;", inputs, [](T a, T b) { return wrap<T>(Wide{a} % b); });
}

TYPED_TEST(IntegerInstructions, Comparisons) {
  using T = TypeParam;
  this->compare("eq", [](T a, T b) { return a == b; });
  this->compare("ne", [](T a, T b) { return a != b; });
  this->compare("lt", [](T a, T b) { return a < b; });
  this->compare("le", [](T a, T b) { return a <= b; });
  this->compare("gt", [](T a, T b) { return a > b; });
  this->compare("ge", [](T a, T b) { return a >= b; });
  if constexpr (!std::is_signed_v<T>) {
    this->compare("lo", [](T a, T b) { return a < b; });
    this->compare("ls", [](T a, T b) { return a <= b; });
    this->compare("hi", [](T a, T b) { return a > b; });
    this->compare("hs", [](T a, T b) { return a >= b; });
  }
}

TYPED_TEST(IntegerInstructions, Bits) {
  using T = TypeParam;
  using U = std::make_unsigned_t<T>;
  const auto logical = [&](const std::string& name, auto expected) {
    expect_instruction<T>(name + bits_name<T>() + " %d, %a, %b;", pairs(edges<T>(), edges<T>()), expected);
  };
  logical("and", [](T a, T b) { return static_cast<T>(a & b); });
  logical("or", [](T a, T b) { return static_cast<T>(a | b); });
  logical("xor", [](T a, T b) { return static_cast<T>(a ^ b); });
  expect_instruction<T>("not" + bits_name<T>() + " %d, %a;", singles(edges<T>()),
                        [](T a) { return static_cast<T>(~a); });
  expect_instruction<T>("cnot" + bits_name<T>() + " %d, %a;", singles(edges<T>()), [](T a) { return T{a == 0}; });
  expect_instruction<T>("mov" + bits_name<T>() + " %d, %a;", singles(edges<T>()), [](T a) { return a; });
  const auto shifts = pairs(edges<T>(), edges<std::uint32_t>());
  expect_instruction<T>("shl" + bits_name<T>() + " %d, %a, %b;", shifts, [](T a, std::uint32_t n) {
    return n >= 8 * sizeof(T) ? T{0} : static_cast<T>(static_cast<U>(std::uint64_t{static_cast<U>(a)} << n));
  });
  expect_instruction<T>("shr" + type_name<T>() + " %d, %a, %b;", shifts, [](T a, std::uint32_t n) {
    return static_cast<T>(Wide{a} >> std::min<std::uint32_t>(n, 8 * sizeof(T)));
  });
  expect_instruction<T>("selp" + bits_name<T>() + " %d, %a, %b, %pc;",
                        triples(edges<T>(), edges<T>(), std::vector<std::uint32_t>{0, 1, 0xffffffff}),
                        [](T a, T b, std::uint32_t p) { return p != 0 ? a : b; });
}

TYPED_TEST(IntegerInstructions, Sign) {
  using T = TypeParam;
  if constexpr (std::is_signed_v<T>) {
    expect_instruction<T>("neg" + type_name<T>() + " %d, %a;", singles(edges<T>()),
                          [](T a) { return wrap<T>(-Wide{a}); });
    expect_instruction<T>("abs" + type_name<T>() + " %d, %a;", singles(edges<T>()),
                          [](T a) { return wrap<T>(a < 0 ? -Wide{a} : Wide{a}); });
  }
}

TYPED_TEST(IntegerInstructions, WideProducts) {
  using T = TypeParam;
  if constexpr (sizeof(T) == 2 || sizeof(T) == 4) {
    using W = std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>,
                                 std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;
    expect_instruction<W>("mul.wide" + type_name<T>() + " %d, %a, %b;", pairs(edges<T>(), edges<T>()),
                          [](T a, T b) { return static_cast<W>(Wide{a} * b); });
    expect_instruction<W>("mad.wide" + type_name<T>() + " %d, %a, %b, %c;", triples(edges<T>(), edges<T>(), edges<W>()),
                          [](T a, T b, W c) { return wrap<W>(Wide{a} * b + c); });
  }
}

TYPED_TEST(IntegerInstructions, Counting) {
  using T = TypeParam;
  using U = std::make_unsigned_t<T>;
  if constexpr (sizeof(T) >= 4) {
    const auto count = [&](const std::string& name, auto expected) {
      expect_instruction<std::uint32_t>(name + " %d, %a;", singles(edges<T>()),
                                        [&](T a) { return static_cast<std::uint32_t>(expected(static_cast<U>(a))); });
    };
    count("popc" + bits_name<T>(), [](U a) { return std::popcount(a); });
    count("clz" + bits_name<T>(), [](U a) { return std::countl_zero(a); });
    count("bfind" + type_name<T>(), [](U a) {
      const U bits = std::is_signed_v<T> && static_cast<T>(a) < 0 ? static_cast<U>(~a) : a;
      return bits == 0 ? -1 : static_cast<int>(8 * sizeof(T)) - 1 - std::countl_zero(bits);
    });
    expect_instruction<T>("brev" + bits_name<T>() + " %d, %a;", singles(edges<T>()), [](T a) {
      U result = 0;
      for (std::size_t bit = 0; bit < 8 * sizeof(T); ++bit) {
        if (static_cast<U>(a) >> bit & 1) result |= U{1} << (8 * sizeof(T) - 1 - bit);
      }
      return static_cast<T>(result);
    });
  }
}

/// The definitions of the PTX manual, bit by bit.
TYPED_TEST(IntegerInstructions, Fields) {
  using T = TypeParam;
  using U = std::make_unsigned_t<T>;
  if constexpr (sizeof(T) >= 4) {
    const std::vector<std::uint32_t> positions{0, 1, 5, 15, 31, 32, 40, 63, 64, 200, 255, 256};
    expect_instruction<T>("bfe" + type_name<T>() + " %d, %a, %b, %c;", triples(edges<T>(), positions, positions),
                          [](T a, std::uint32_t b, std::uint32_t c) {
                            const std::uint32_t top = 8 * sizeof(T) - 1, position = b & 255, length = c & 255;
                            const std::uint32_t sign_at = std::min(position + length - 1, top);
                            const bool sign = std::is_signed_v<T> && length > 0 && (static_cast<U>(a) >> sign_at & 1);
                            U result = 0;
                            for (std::uint32_t i = 0; i <= top; ++i) {
                              const bool inside = i < length && position + i <= top;
                              const bool bit = inside ? static_cast<U>(a) >> (position + i) & 1 : sign;
                              result |= U{bit} << i;
                            }
                            return static_cast<T>(result);
                          });
    if constexpr (!std::is_signed_v<T>) {
      for (const std::uint32_t length : {0u, 1u, 7u, 32u, 255u}) {
        expect_instruction<T>(fmt::format("bfi{} %d, %a, %b, %c, {};", bits_name<T>(), length),
                              triples(edges<T>(), edges<T>(), positions), [&](T a, T b, std::uint32_t c) {
                                T result = b;
                                const std::uint32_t position = c & 255;
                                for (std::uint32_t i = 0; i < length && position + i < 8 * sizeof(T); ++i) {
                                  result &= ~(T{1} << (position + i));
                                  result |= (a >> i & 1) << (position + i);
                                }
                                return result;
                              });
      }
    }
  }
}

TEST(IntegerInstructions32, SaturatingSums) {
  using T = std::int32_t;
  const auto clamp = [](Wide value) {
    return static_cast<T>(std::clamp<Wide>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  };
  const auto inputs = pairs(edges<T>(), edges<T>());
  expect_instruction<T>("add.sat.s32 %d, %a, %b;", inputs, [&](T a, T b) { return clamp(Wide{a} + b); });
  expect_instruction<T>("sub.sat.s32 %d, %a, %b;", inputs, [&](T a, T b) { return clamp(Wide{a} - b); });
}

TEST(IntegerInstructions32, Lookup) {
  using T = std::uint32_t;
  for (const std::uint32_t table : {0x00u, 0xffu, 0x80u, 0xfeu, 0x96u, 0xe8u, 0xcau, 0x1bu}) {
    expect_instruction<T>(fmt::format("lop3.b32 %d, %a, %b, %c, {};", table),
                          triples(edges<T>(), edges<T>(), edges<T>()), [&](T a, T b, T c) {
                            T result = 0;
                            for (int bit = 0; bit < 32; ++bit) {
                              const T row = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1);
                              result |= (table >> row & 1) << bit;
                            }
                            return result;
                          });
  }
}

TEST(IntegerInstructions32, Permutations) {
  using T = std::uint32_t;
  const auto byte = [](T a, T b, T selector) {
    const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
    const T value = static_cast<T>(bytes >> (8 * (selector & 7))) & 0xff;
    return selector & 8 ? (value & 0x80 ? T{0xff} : T{0}) : value;
  };
  const std::vector<T> words{0x00000000, 0x33221100, 0xf7e6d5c4, 0x80ff7f01};
  const auto expect_mode = [&](const std::string& mode, const std::vector<T>& selectors, auto four) {
    expect_instruction<T>("prmt.b32" + mode + " %d, %a, %b, %c;", triples(words, words, selectors), [&](T a, T b, T c) {
      const std::array<T, 4> selected = four(c);
      T result = 0;
      for (unsigned i = 0; i < 4; ++i) result |= byte(a, b, selected[i]) << (8 * i);
      return result;
    });
  };
  expect_mode("", {0x3210, 0x7654, 0x0123, 0xba98, 0xfedc, 0x5140, 0x2222}, [](T c) {
    return std::array<T, 4>{c & 15, c >> 4 & 15, c >> 8 & 15, c >> 12 & 15};
  });
  // Rows of the manual's table, least significant byte first.
  using Rows = std::array<std::array<T, 4>, 4>;
  const auto expect_rows = [&](const std::string& mode, const Rows& rows) {
    expect_mode(mode, {0, 1, 2, 3}, [&](T c) { return rows[c & 3]; });
  };
  expect_rows(".f4e", {{{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}}});
  expect_rows(".b4e", {{{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}}});
  expect_rows(".rc8", {{{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}});
  expect_rows(".ecl", {{{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}}});
  expect_rows(".ecr", {{{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}}});
  expect_rows(".rc16", {{{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}}});
}

TEST(IntegerInstructions32, FunnelShifts) {
  using T = std::uint32_t;
  const auto inputs = triples(edges<T>(), edges<T>(), std::vector<T>{0, 1, 5, 16, 31, 32, 33, 63, 64, 255});
  const auto joined = [](T a, T b) { return UnsignedWide{b} << 32 | a; };
  expect_instruction<T>("shf.l.wrap.b32 %d, %a, %b, %c;", inputs,
                        [&](T a, T b, T c) { return static_cast<T>(joined(a, b) << (c & 31) >> 32); });
  expect_instruction<T>("shf.l.clamp.b32 %d, %a, %b, %c;", inputs,
                        [&](T a, T b, T c) { return static_cast<T>(joined(a, b) << std::min(c, T{32}) >> 32); });
  expect_instruction<T>("shf.r.wrap.b32 %d, %a, %b, %c;", inputs,
                        [&](T a, T b, T c) { return static_cast<T>(joined(a, b) >> (c & 31)); });
  expect_instruction<T>("shf.r.clamp.b32 %d, %a, %b, %c;", inputs,
                        [&](T a, T b, T c) { return static_cast<T>(joined(a, b) >> std::min(c, T{32})); });
}

}  // namespace
}  // namespace softmax_dispatch::sim
