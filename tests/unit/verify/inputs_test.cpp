#include "verify/inputs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace softmax_dispatch::verify {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();

std::vector<float> filled(std::string_view name, std::int64_t M, std::int64_t N, std::uint64_t seed = 42) {
  for (const Input& input : inputs()) {
    if (input.name != name) continue;
    std::vector<float> x(static_cast<std::size_t>(M * N), 12345.0f);
    input.fill(x, M, N, seed);
    return x;
  }
  ADD_FAILURE() << "no input " << name;
  return std::vector<float>(static_cast<std::size_t>(M * N));
}

std::vector<std::uint32_t> bits(const std::vector<float>& x) {
  std::vector<std::uint32_t> result;
  for (const float element : x) result.push_back(std::bit_cast<std::uint32_t>(element));
  return result;
}

TEST(Inputs, RowsAGridApartHoldDifferentInputs) {
  const std::size_t count = inputs().size();
  for (std::size_t divisor = 2; divisor < count; ++divisor) EXPECT_NE(count % divisor, 0u) << divisor;
}

TEST(Inputs, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (const Input& input : inputs()) EXPECT_TRUE(names.insert(input.name).second) << input.name;
}

TEST(Inputs, FillEveryElementTheSameWayEachTime) {
  for (const Input& input : inputs()) {
    for (const std::int64_t N : {1, 2, 3, 4, 5, 257, 2000}) {
      const std::vector<float> x = filled(input.name, 3, N);
      EXPECT_EQ(std::count(x.begin(), x.end(), 12345.0f), 0) << input.name << " N=" << N;
      EXPECT_EQ(bits(x), bits(filled(input.name, 3, N))) << input.name << " N=" << N;
    }
  }
}

TEST(Inputs, RandomRowsDifferFromEachOtherAndBetweenSeeds) {
  const std::vector<float> x = filled("random in [-10, 10)", 2, 100);
  EXPECT_NE(std::vector(x.begin(), x.begin() + 100), std::vector(x.begin() + 100, x.end()));
  EXPECT_NE(x, filled("random in [-10, 10)", 2, 100, 43));
  EXPECT_NE(x, filled("another random in [-10, 10)", 2, 100));
}

TEST(Inputs, PublishedOnesAreUniform) {
  int published = 0;
  for (const Input& input : inputs()) {
    if (!input.published) continue;
    ++published;
    const std::vector<float> x = filled(input.name, 1, 20000);
    EXPECT_THAT(x, testing::Each(testing::AllOf(testing::Ge(-10.0f), testing::Lt(10.0f))));
    EXPECT_NEAR(std::accumulate(x.begin(), x.end(), 0.0) / 2e4, 0, 0.2);
    EXPECT_NEAR(static_cast<double>(std::count_if(x.begin(), x.end(), [](float e) { return e < -5; })), 5000, 300);
  }
  EXPECT_GE(published, 1);
}

TEST(Inputs, SpecialsStandAtEitherEnd) {
  for (const auto& [word, value] : {std::pair{"+inf", kInf}, {"-inf", -kInf}, {"FLT_MAX", kMax}, {"-FLT_MAX", -kMax}}) {
    const std::vector<float> first = filled(std::string(word) + " first", 1, 50);
    const std::vector<float> last = filled(std::string(word) + " last", 1, 50);
    EXPECT_EQ(first.front(), value) << word;
    EXPECT_EQ(last.back(), value) << word;
    EXPECT_EQ(std::count(first.begin(), first.end(), value), 1) << word;
    EXPECT_EQ(std::count(last.begin(), last.end(), value), 1) << word;
  }
  EXPECT_TRUE(std::isnan(filled("NaN first", 1, 50).front()));
  EXPECT_TRUE(std::isnan(filled("NaN last", 1, 50).back()));
}

TEST(Inputs, PeakStandsAboveTheRest) {
  const std::vector<float> x = filled("peak first, 16.64 above the rest", 1, 100);
  for (std::size_t i = 1; i < x.size(); ++i) EXPECT_FLOAT_EQ(x[0] - x[i], 16.64f);
  // Each further term is lost against a sum of 1, or counts twice.
  EXPECT_EQ(1.0f + std::exp(-16.64f), 1.0f);
  EXPECT_EQ(1.0f + std::exp(-16.63f), 1.0f + 0x1p-23f);
}

TEST(Inputs, LeadingInfinitiesLeaveTheLastElement) {
  for (const std::int64_t N : {1, 2, 7, 300}) {
    const std::vector<float> all_but_last = filled("leading -inf, all but the last", 1, N);
    EXPECT_EQ(std::count(all_but_last.begin(), all_but_last.end(), -kInf), N - 1);
    EXPECT_TRUE(std::isfinite(all_but_last.back()));
    const std::vector<float> run = filled("leading -inf, 33", 1, N);
    EXPECT_EQ(std::count(run.begin(), run.end(), -kInf), std::min<std::int64_t>(33, N - 1));
    EXPECT_TRUE(std::isfinite(run.back()));
  }
}

TEST(Inputs, OffsetsKeepTheSpread) {
  const std::vector<float> x = filled("random + 1e6", 1, 1000);
  EXPECT_THAT(x, testing::Each(testing::AllOf(testing::Ge(1e6f - 10), testing::Le(1e6f + 10))));
  EXPECT_GT(*std::max_element(x.begin(), x.end()) - *std::min_element(x.begin(), x.end()), 15.0f);
}

}  // namespace
}  // namespace softmax_dispatch::verify
