// Floating-point instructions, each against the host's arithmetic at edge values. Directed rounding is compared with
// the host's own rounding modes.
#include <cfenv>
#include <random>

#include "sim/instruction.hpp"

namespace softmax_dispatch::sim {
namespace {

/// Runs f() in a rounding mode of the host. What f() computes with must be volatile.
template <typename F>
auto in_mode(int mode, F f) {
  const int before = std::fegetround();
  std::fesetround(mode);
  const auto result = f();
  std::fesetround(before);
  return result;
}

std::vector<float> floats() {
  std::vector<float> values = edges<float>();
  std::mt19937 random(7);
  for (int i = 0; i < 24; ++i) values.push_back(__builtin_bit_cast(float, static_cast<std::uint32_t>(random())));
  return values;
}

float flush(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}
float clamp01(float x) {
  return x > 0 ? std::min(x, 1.0f) : 0.0f;
}

struct Mode {
  const char* name;
  int host;
};
const Mode kModes[] = {
    {"", FE_TONEAREST}, {".rn", FE_TONEAREST}, {".rz", FE_TOWARDZERO}, {".rm", FE_DOWNWARD}, {".rp", FE_UPWARD}};

TEST(RealInstructions, SumsAndProductsInEveryRounding) {
  const auto two = pairs(floats(), floats());
  for (const Mode& mode : kModes) {
    const auto check = [&](const std::string& name, auto operation) {
      expect_instruction<float>(name + mode.name + ".f32 %d, %a, %b;", two, [&](float a, float b) {
        return in_mode(mode.host, [&] {
          volatile float x = a, y = b;
          return operation(x, y);
        });
      });
    };
    check("add", [](volatile float& x, volatile float& y) { return x + y; });
    check("sub", [](volatile float& x, volatile float& y) { return x - y; });
    check("mul", [](volatile float& x, volatile float& y) { return x * y; });
    expect_instruction<float>(std::string("fma") + (*mode.name ? mode.name : ".rn") + ".f32 %d, %a, %b, %c;",
                              triples(floats(), floats(), floats()), [&](float a, float b, float c) {
                                return in_mode(mode.host, [&] {
                                  volatile float x = a, y = b, z = c;
                                  return std::fma(x, y, z);
                                });
                              });
  }
}

TEST(RealInstructions, QuotientsAndRootsInEveryRounding) {
  for (const Mode& mode : kModes) {
    const std::string suffix = std::string(*mode.name ? mode.name : ".rn") + ".f32";
    expect_instruction<float>("div" + suffix + " %d, %a, %b;", pairs(floats(), floats()), [&](float a, float b) {
      return in_mode(mode.host, [&] {
        volatile float x = a, y = b;
        return x / y;
      });
    });
    expect_instruction<float>("rcp" + suffix + " %d, %a;", singles(floats()), [&](float a) {
      return in_mode(mode.host, [&] {
        volatile float x = a;
        return 1.0f / x;
      });
    });
    expect_instruction<float>("sqrt" + suffix + " %d, %a;", singles(floats()), [&](float a) {
      return in_mode(mode.host, [&] {
        volatile float x = a;
        return std::sqrt(x);
      });
    });
  }
}

TEST(RealInstructions, FlushAndSaturate) {
  const auto two = pairs(floats(), floats());
  expect_instruction<float>("add.ftz.f32 %d, %a, %b;", two,
                            [](float a, float b) { return flush(flush(a) + flush(b)); });
  expect_instruction<float>("mul.ftz.f32 %d, %a, %b;", two,
                            [](float a, float b) { return flush(flush(a) * flush(b)); });
  expect_instruction<float>("add.sat.f32 %d, %a, %b;", two, [](float a, float b) { return clamp01(a + b); });
  expect_instruction<float>("mul.ftz.sat.f32 %d, %a, %b;", two,
                            [](float a, float b) { return clamp01(flush(flush(a) * flush(b))); });
  expect_instruction<float>(
      "fma.rn.ftz.sat.f32 %d, %a, %b, %c;", triples(floats(), floats(), floats()),
      [](float a, float b, float c) { return clamp01(flush(std::fma(flush(a), flush(b), flush(c)))); });
  expect_instruction<float>("mad.rn.f32 %d, %a, %b, %c;", triples(floats(), floats(), floats()),
                            [](float a, float b, float c) { return std::fma(a, b, c); });
}

template <typename T>
T least(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

template <typename T>
class RealTypes : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(RealTypes, Reals);

template <typename T>
std::string real_name() {
  return sizeof(T) == 4 ? ".f32" : ".f64";
}

TYPED_TEST(RealTypes, MinimaAndSigns) {
  using T = TypeParam;
  const auto two = pairs(edges<T>(), edges<T>());
  expect_instruction<T>("min" + real_name<T>() + " %d, %a, %b;", two, [](T a, T b) { return least(a, b); });
  expect_instruction<T>("max" + real_name<T>() + " %d, %a, %b;", two, [](T a, T b) { return -least<T>(-a, -b); });
  std::vector<std::tuple<T, T>> numbers;
  for (const auto& one : two) {
    if (!std::isnan(std::get<1>(one))) numbers.push_back(one);
  }
  expect_instruction<T>("copysign" + real_name<T>() + " %d, %a, %b;", numbers,
                        [](T a, T b) { return std::copysign(b, a); });
}

TYPED_TEST(RealTypes, Comparisons) {
  using T = TypeParam;
  const auto two = pairs(edges<T>(), edges<T>());
  const auto check = [&](const std::string& name, auto ordered) {
    expect_instruction<std::uint32_t>("setp." + name + real_name<T>() + " %pd, %a, %b;", two, [&](T a, T b) {
      return std::uint32_t{!std::isunordered(a, b) && ordered(a, b)};
    });
    expect_instruction<std::uint32_t>("setp." + name + "u" + real_name<T>() + " %pd, %a, %b;", two,
                                      [&](T a, T b) { return std::uint32_t{std::isunordered(a, b) || ordered(a, b)}; });
  };
  check("eq", [](T a, T b) { return a == b; });
  check("ne", [](T a, T b) { return a != b; });
  check("lt", [](T a, T b) { return a < b; });
  check("le", [](T a, T b) { return a <= b; });
  check("gt", [](T a, T b) { return a > b; });
  check("ge", [](T a, T b) { return a >= b; });
  expect_instruction<std::uint32_t>("setp.num" + real_name<T>() + " %pd, %a, %b;", two,
                                    [](T a, T b) { return std::uint32_t{!std::isunordered(a, b)}; });
  expect_instruction<std::uint32_t>("setp.nan" + real_name<T>() + " %pd, %a, %b;", two,
                                    [](T a, T b) { return std::uint32_t{std::isunordered(a, b)}; });
}

TYPED_TEST(RealTypes, Classes) {
  using T = TypeParam;
  const auto check = [&](const std::string& name, auto expected) {
    expect_instruction<std::uint32_t>("testp." + name + real_name<T>() + " %pd, %a;", singles(edges<T>()),
                                      [&](T a) { return std::uint32_t{expected(a)}; });
  };
  check("finite", [](T a) { return std::isfinite(a); });
  check("infinite", [](T a) { return std::isinf(a); });
  check("number", [](T a) { return !std::isnan(a); });
  check("notanumber", [](T a) { return std::isnan(a); });
  if constexpr (sizeof(T) == 4) {
    check("normal", [](T a) { return std::isnormal(a); });
    check("subnormal", [](T a) { return std::fpclassify(a) == FP_SUBNORMAL; });
  }
}

TEST(RealInstructions, SignsAreBits) {
  const std::vector<std::uint32_t> bits{0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000,
                                        0xff800000, 0x7fc01234, 0xffc01234, 1};
  expect_instruction<std::uint32_t>("{ .reg .f32 %x; mov.b32 %x, %a; neg.f32 %x, %x; mov.b32 %d, %x; }", singles(bits),
                                    [](std::uint32_t a) { return a ^ 0x80000000; });
  expect_instruction<std::uint32_t>("{ .reg .f32 %x; mov.b32 %x, %a; abs.f32 %x, %x; mov.b32 %d, %x; }", singles(bits),
                                    [](std::uint32_t a) { return a & 0x7fffffff; });
}

TEST(RealInstructions, Doubles) {
  const auto two = pairs(edges<double>(), edges<double>());
  expect_instruction<double>("add.f64 %d, %a, %b;", two, [](double a, double b) { return a + b; });
  expect_instruction<double>("sub.rn.f64 %d, %a, %b;", two, [](double a, double b) { return a - b; });
  expect_instruction<double>("mul.f64 %d, %a, %b;", two, [](double a, double b) { return a * b; });
  expect_instruction<double>("div.rn.f64 %d, %a, %b;", two, [](double a, double b) { return a / b; });
  expect_instruction<double>("fma.rn.f64 %d, %a, %b, %c;", triples(edges<double>(), edges<double>(), edges<double>()),
                             [](double a, double b, double c) { return std::fma(a, b, c); });
  expect_instruction<double>("rcp.rn.f64 %d, %a;", singles(edges<double>()), [](double a) { return 1.0 / a; });
  expect_instruction<double>("sqrt.rn.f64 %d, %a;", singles(edges<double>()), [](double a) { return std::sqrt(a); });
}

/// Units in the last place between two floats of one sign.
double ulps(float got, float expected) {
  if (std::isnan(expected)) return std::isnan(got) ? 0 : 1e9;
  if (got == expected) return 0;
  return std::abs(static_cast<double>(__builtin_bit_cast(std::int32_t, got)) -
                  static_cast<double>(__builtin_bit_cast(std::int32_t, expected)));
}

/// An approximate instruction is held to half a unit and the host's own error: far within what CUDA documents.
void expect_close(const std::string& instruction, const std::vector<float>& inputs, long double (*exact)(long double)) {
  const std::vector<float> results = InstructionRun<float, float>(instruction)(singles(inputs));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto expected = static_cast<float>(exact(inputs[i]));
    EXPECT_LE(ulps(results[i], expected), 1) << instruction << " of " << print_bits(inputs[i]) << " gave "
                                             << print_bits(results[i]) << ", not " << print_bits(expected);
  }
}

std::vector<float> spread(float low, float high, int count) {
  std::vector<float> values;
  for (int i = 0; i <= count; ++i)
    values.push_back(low + (high - low) * static_cast<float>(i) / static_cast<float>(count));
  return values;
}

TEST(RealInstructions, PowerOfTwo) {
  std::vector<float> inputs = floats();
  for (const float one : spread(-155, 130, 4000)) inputs.push_back(one);
  for (const float one : spread(-1, 1, 4000)) inputs.push_back(one);
  expect_close("ex2.approx.f32 %d, %a;", inputs, [](long double x) { return std::exp2(x); });
  expect_instruction<float>("ex2.approx.ftz.f32 %d, %a;", singles(inputs), [](float a) {
    return flush(static_cast<float>(std::exp2(static_cast<long double>(flush(a)))));
  });
}

TEST(RealInstructions, OtherApproximations) {
  std::vector<float> inputs = floats();
  for (const float one : spread(-10, 10, 2000)) inputs.push_back(one);
  expect_close("lg2.approx.f32 %d, %a;", inputs, [](long double x) { return std::log2(x); });
  expect_close("rsqrt.approx.f32 %d, %a;", inputs, [](long double x) { return 1 / std::sqrt(x); });
  expect_close("rcp.approx.ftz.f32 %d, %a;", spread(-10, 10, 2001), [](long double x) { return 1 / x; });
  expect_close("sqrt.approx.f32 %d, %a;", inputs, [](long double x) { return std::sqrt(x); });
  expect_close("tanh.approx.f32 %d, %a;", inputs, [](long double x) { return std::tanh(x); });
  expect_close("sin.approx.f32 %d, %a;", spread(-3.2f, 3.2f, 2000), [](long double x) { return std::sin(x); });
  expect_close("cos.approx.f32 %d, %a;", spread(-3.2f, 3.2f, 2000), [](long double x) { return std::cos(x); });
  expect_instruction<float>("div.full.f32 %d, %a, %b;", pairs(spread(-4, 4, 40), spread(1, 9, 40)),
                            [](float a, float b) { return a / b; });
}

TEST(RealInstructions, SetAndCombine) {
  const auto two = pairs(floats(), floats());
  expect_instruction<std::uint32_t>("set.lt.u32.f32 %d, %a, %b;", two,
                                    [](float a, float b) { return a < b ? 0xffffffffu : 0u; });
  expect_instruction<float>("set.ge.f32.f32 %d, %a, %b;", two, [](float a, float b) { return a >= b ? 1.0f : 0.0f; });
  const std::vector<std::uint32_t> flags{0, 1};
  const auto three =
      triples(edges<std::uint32_t>(), edges<std::uint32_t>(), std::vector<std::uint32_t>{0, 1, 0, 1, 0, 1});
  const auto combine = [&](const std::string& name, const std::string& c, auto expected) {
    expect_instruction<std::uint32_t>("setp.lt." + name + ".u32 %pd, %a, %b, " + c + ";", three, expected);
  };
  using U = std::uint32_t;
  combine("and", "%pc", [](U a, U b, U c) { return U{a < b && c != 0}; });
  combine("or", "%pc", [](U a, U b, U c) { return U{a < b || c != 0}; });
  combine("xor", "%pc", [](U a, U b, U c) { return U{(a < b) != (c != 0)}; });
  combine("and", "!%pc", [](U a, U b, U c) { return U{a < b && c == 0}; });
  // Two destinations: the comparison and its opposite, each combined with the same predicate; one may be that
  // predicate.
  expect_instruction<U>("setp.lt.or.u32 %pc|%pd, %a, %b, %pc;", three,
                        [](U a, U b, U c) { return U{!(a < b) || c != 0}; });
  expect_instruction<U>("setp.lt.u32 %pd|%pc, %a, %b;", three, [](U a, U b, U) { return U{a < b}; });
  const auto logic = [&](const std::string& name, auto expected) {
    expect_instruction<U>(name + ".pred %pd, %pa, %pb;", pairs(flags, flags), expected);
  };
  logic("and", [](U a, U b) { return a & b; });
  logic("or", [](U a, U b) { return a | b; });
  logic("xor", [](U a, U b) { return a ^ b; });
  expect_instruction<U>("not.pred %pd, %pa;", singles(flags), [](U a) { return a ^ 1; });
  expect_instruction<U>("mov.pred %pd, %pa;", singles(flags), [](U a) { return a; });
}

}  // namespace
}  // namespace softmax_dispatch::sim
