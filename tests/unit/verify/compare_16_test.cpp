// The pass rule of the 16-bit types: one unit in the last place of the correctly rounded result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "support/elements.hpp"
#include "verify/inputs.hpp"
#include "verify/reference.hpp"

namespace softmax_dispatch::verify {
namespace {

using testing::HasSubstr;

/// One row of an input with the correctly rounded result.
struct Row {
  Row(const Input& input, DType type, std::int64_t N) : dtype(type) {
    std::vector<float> x(static_cast<std::size_t>(N));
    input.fill(x, 1, N, 42);
    for (float& value : x) value = held_by(dtype, value);
    for (const double value : reference(x, 1, N)) right.push_back(round_to(dtype, value));
  }
  bool nan() const { return is_nan(dtype, right[0]); }
  Comparison compared(const std::vector<std::uint16_t>& y) const {
    return compare_row(dtype, std::as_bytes(std::span(y)), right);
  }
  std::vector<std::uint16_t> changed(const std::function<std::uint16_t(std::uint16_t)>& change) const {
    std::vector<std::uint16_t> y = right;
    for (std::uint16_t& bits : y) bits = change(bits);
    return y;
  }

  DType dtype;
  std::vector<std::uint16_t> right;
};

class Compare16 : public testing::TestWithParam<std::tuple<DType, std::int64_t>> {
 protected:
  static DType dtype() { return std::get<0>(GetParam()); }
  static Row row(const Input& input) { return {input, dtype(), std::get<1>(GetParam())}; }
  /// All of them, or where rows are long the most telling.
  static std::span<const Input> inputs_here() {
    return std::get<1>(GetParam()) < 10000 ? inputs() : inputs().first(11);
  }
};

TEST_P(Compare16, PassesTheRoundedReferenceAndItsNeighbours) {
  for (const Input& input : inputs_here()) {
    const Row one = row(input);
    EXPECT_TRUE(one.compared(one.right).pass) << input.name;
    EXPECT_EQ(one.compared(one.right).worst_error, 0) << input.name;
    if (one.nan()) continue;
    const Comparison above = one.compared(one.changed([](std::uint16_t bits) { return bits + 1; }));
    EXPECT_TRUE(above.pass) << input.name << ": " << above.reason;
    EXPECT_EQ(above.worst_error, 1) << input.name;
    EXPECT_TRUE(one.compared(one.changed([](std::uint16_t bits) { return bits > 0 ? bits - 1 : bits; })).pass);
  }
}

TEST_P(Compare16, FailsTwoUnitsInEveryElementAndInOne) {
  for (const Input& input : inputs_here()) {
    const Row one = row(input);
    if (one.nan()) continue;
    const Comparison above = one.compared(one.changed([](std::uint16_t bits) { return bits + 2; }));
    EXPECT_FALSE(above.pass) << input.name;
    EXPECT_EQ(above.worst_error, 2) << input.name;
    for (const std::size_t i : {std::size_t{0}, one.right.size() / 2, one.right.size() - 1}) {
      std::vector<std::uint16_t> y = one.right;
      y[i] += 2;
      const Comparison single = one.compared(y);
      EXPECT_FALSE(single.pass) << input.name << ' ' << i;
      EXPECT_THAT(single.reason, HasSubstr("column " + std::to_string(i) + ":"));
    }
  }
}

TEST_P(Compare16, FailsAnAllZeroOutput) {
  for (const Input& input : inputs_here()) {
    const Row one = row(input);
    EXPECT_FALSE(one.compared(std::vector<std::uint16_t>(one.right.size(), 0)).pass) << input.name;
  }
}

/// 0.1 % of a normal f16 is one to two units, 1 % of a bf16 likewise: in a row of random elements some are two away. Of
/// a row so long that every f16 is subnormal, it takes three units of the largest.
TEST_P(Compare16, FailsARelativeErrorThatIsCoarserThanItsUnits) {
  const Row one = row(inputs()[0]);
  const float most = value_of(dtype(), *std::max_element(one.right.begin(), one.right.end()));
  const double error = dtype() == DType::f16 ? std::max(0.001, 3 * 0x1p-24 / static_cast<double>(most)) : 0.01;
  const std::vector<std::uint16_t> y =
      one.changed([&](std::uint16_t bits) { return round_to(dtype(), value_of(dtype(), bits) * (1 + error)); });
  EXPECT_FALSE(one.compared(y).pass);
}

TEST_P(Compare16, WantsNaNExactlyWhereTheReferenceHasIt) {
  const std::uint16_t nan = round_to(dtype(), std::nan(""));
  for (const Input& input : inputs_here()) {
    const Row one = row(input);
    std::vector<std::uint16_t> y = one.right;
    y.back() = one.nan() ? round_to(dtype(), 1) : nan;
    const Comparison result = one.compared(y);
    EXPECT_FALSE(result.pass) << input.name;
    EXPECT_EQ(result.worst_error, std::numeric_limits<double>::infinity());
    EXPECT_THAT(result.reason, HasSubstr("nan"));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Compare16,
                         testing::Combine(testing::Values(DType::f16, DType::bf16),
                                          testing::Values(8, 9, 33, 257, 1000, 4096, 65536, 1048576)),
                         [](const auto& p) {
                           return std::string(to_string(std::get<0>(p.param))) + "_N" +
                                  std::to_string(std::get<1>(p.param));
                         });

TEST(Compare16Bits, AnyNaNIsANaNAndBothZerosAreZero) {
  const std::vector<std::uint16_t> right{0x7e00, 0x0000, 0x0000};
  const std::vector<std::uint16_t> y{0xfe01, 0x8000, 0x8001};
  EXPECT_TRUE(compare_row(DType::f16, std::as_bytes(std::span(y)), right).pass);
}

TEST(Compare16Bits, HoldsSubnormalResultsToTheirUnit) {
  const std::vector<std::uint16_t> right{0x0003};
  for (const auto& [bits, passes] : {std::pair{0x0001, false}, {0x0002, true}, {0x0004, true}, {0x0005, false}}) {
    const std::vector<std::uint16_t> y{static_cast<std::uint16_t>(bits)};
    EXPECT_EQ(compare_row(DType::bf16, std::as_bytes(std::span(y)), right).pass, passes) << bits;
  }
}

}  // namespace
}  // namespace softmax_dispatch::verify
