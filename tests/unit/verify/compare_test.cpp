#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "verify/inputs.hpp"
#include "verify/reference.hpp"

namespace softmax_dispatch::verify {
namespace {

using testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// One row of an input with its reference and the reference rounded to FP32.
struct Row {
  Row(const Input& input, std::int64_t N) : x(static_cast<std::size_t>(N)), published(input.published) {
    input.fill(x, 1, N, 42);
    ref = reference(x, 1, N);
    for (const double value : ref) y.push_back(static_cast<float>(value));
  }
  bool nan() const { return std::isnan(ref[0]); }
  Comparison compared(const std::vector<float>& output) const { return compare_row(x, output, ref, published); }

  std::vector<float> x;
  std::vector<double> ref;
  std::vector<float> y;
  bool published;
};

class CompareAt : public testing::TestWithParam<std::int64_t> {
 protected:
  /// All of them, or where rows are long the most telling.
  static std::span<const Input> inputs_here() { return GetParam() < 10000 ? inputs() : inputs().first(11); }
};

TEST_P(CompareAt, PassesTheRoundedReference) {
  for (const Input& input : inputs_here()) {
    const Row row(input, GetParam());
    const Comparison result = row.compared(row.y);
    EXPECT_TRUE(result.pass) << input.name << ": " << result.reason;
    EXPECT_LT(result.worst_error, 0.05) << input.name;
  }
}

TEST_P(CompareAt, FailsAnAllZeroOutput) {
  for (const Input& input : inputs_here()) {
    const Row row(input, GetParam());
    EXPECT_FALSE(row.compared(std::vector<float>(row.y.size(), 0.0f)).pass) << input.name;
  }
}

TEST_P(CompareAt, FailsARelativeErrorOfOneInAThousand) {
  for (const Input& input : inputs_here()) {
    const Row row(input, GetParam());
    if (row.nan()) continue;
    std::vector<float> wrong = row.y;
    for (float& element : wrong) element *= 1.001f;
    EXPECT_FALSE(row.compared(wrong).pass) << input.name;
  }
}

TEST_P(CompareAt, FailsTheSameErrorInASingleElement) {
  const Row row(inputs()[0], GetParam());
  for (const std::size_t i : {std::size_t{0}, row.y.size() / 2, row.y.size() - 1}) {
    std::vector<float> wrong = row.y;
    wrong[i] *= 0.999f;
    const Comparison result = row.compared(wrong);
    EXPECT_FALSE(result.pass) << i;
    EXPECT_THAT(result.reason, HasSubstr("column " + std::to_string(i)));
    EXPECT_GT(result.worst_error, 100) << i;
  }
}

TEST_P(CompareAt, FailsASingleNaN) {
  const Row row(inputs()[0], GetParam());
  for (const std::size_t i : {std::size_t{0}, row.y.size() / 2, row.y.size() - 1}) {
    std::vector<float> wrong = row.y;
    wrong[i] = kNaN;
    const Comparison result = row.compared(wrong);
    EXPECT_FALSE(result.pass) << i;
    EXPECT_EQ(result.worst_error, std::numeric_limits<double>::infinity());
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, CompareAt, testing::Values(8, 9, 33, 257, 1000, 4096, 65536, 1048576),
                         [](const auto& length) { return "N" + std::to_string(length.param); });

TEST(Compare, WantsNaNInTheWholeRow) {
  const std::vector<float> x{1, kNaN, 2, 3};
  const std::vector<double> ref = reference(x, 2, 2);
  EXPECT_TRUE(compare(x, std::vector<float>{kNaN, kNaN, 0.26894142f, 0.73105858f}, ref, 2, 2, false).pass);
  const Comparison one = compare(x, std::vector<float>{kNaN, 0.5f, 0.26894142f, 0.73105858f}, ref, 2, 2, false);
  EXPECT_FALSE(one.pass);
  EXPECT_THAT(one.reason, HasSubstr("row 0, column 1: got 0.5, expected nan"));
}

TEST(Compare, ChecksEveryRowAndNamesTheFirstThatFails) {
  const std::vector<float> x(30, 1.0f);
  const std::vector<double> ref = reference(x, 10, 3);
  std::vector<float> y(30, 1 / 3.0f);
  EXPECT_TRUE(compare(x, y, ref, 10, 3, true).pass);
  y[28] = 0.334f;
  y[29] = 0.5f;
  const Comparison result = compare(x, y, ref, 10, 3, true);
  EXPECT_FALSE(result.pass);
  EXPECT_THAT(result.reason, HasSubstr("row 9, column 1: got 0.333999991, expected 0.333333333 within 1e-06"));
  EXPECT_GT(result.worst_error, 1e4) << "the worst element is not the first";
}

TEST(Compare, AllowsMoreFarBelowTheMaximum) {
  // At a distance of 32 the tolerance is twice that at the maximum.
  const std::vector<float> x{0, -32};
  const std::vector<double> ref = reference(x, 1, 2);
  const auto with_error = [&](double relative) {
    return std::vector<float>{1.0f, static_cast<float>(ref[1] * (1 + relative))};
  };
  EXPECT_TRUE(compare_row(x, with_error(7.5e-6), ref, false).pass);
  EXPECT_FALSE(compare_row(x, with_error(8.5e-6), ref, false).pass);
}

TEST(Compare, HoldsPublishedInputsToTheAbsoluteBoundToo) {
  const std::vector<float> x{1};
  const std::vector<double> ref{1};
  const std::vector<float> y{1 + 2e-6f};
  EXPECT_TRUE(compare_row(x, y, ref, false).pass);
  EXPECT_FALSE(compare_row(x, y, ref, true).pass);
}

TEST(Compare, ChecksTheRowSumByItself) {
  // A reference that is wrong in the same way as the output does not hide it.
  const std::vector<float> x{0, 0};
  const std::vector<double> ref{0.5, 0.50002};
  const Comparison result = compare_row(x, std::vector<float>{0.5f, 0.50002f}, ref, false);
  EXPECT_FALSE(result.pass);
  EXPECT_THAT(result.reason, HasSubstr("sums to 1.0000"));
}

TEST(Compare, AcceptsZeroFarBelowTheMaximumAndNothingElseThere) {
  const std::vector<float> x{0, -std::numeric_limits<float>::infinity(), -3e38f};
  const std::vector<double> ref = reference(x, 1, 3);
  EXPECT_TRUE(compare_row(x, std::vector<float>{1, 0, 0}, ref, false).pass);
  EXPECT_FALSE(compare_row(x, std::vector<float>{1, 1e-36f, 0}, ref, false).pass);
  EXPECT_FALSE(compare_row(x, std::vector<float>{1, 0, kNaN}, ref, false).pass);
}

}  // namespace
}  // namespace softmax_dispatch::verify
