#include "verify/reference.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "verify/inputs.hpp"

namespace softmax_dispatch::verify {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Reference, HandComputedRows) {
  const float log3 = std::log(3.0f);
  const std::vector<float> x{0, log3, 5, 5};
  const std::vector<double> ref = reference(x, 2, 2);
  EXPECT_NEAR(ref[0], 0.25, 1e-7);
  EXPECT_NEAR(ref[1], 0.75, 1e-7);
  EXPECT_EQ(ref[2], 0.5);
  EXPECT_EQ(ref[3], 0.5);
}

TEST(Reference, IsStableForHugeValues) {
  EXPECT_THAT(reference(std::vector<float>{3e38f, 3e38f, -3e38f, -kInf}, 1, 4), testing::ElementsAre(0.5, 0.5, 0, 0));
}

TEST(Reference, FollowsPyTorchOnSpecialValues) {
  const std::vector<float> x{0, kNaN, 1, kInf, -kInf, -kInf, -kInf, 7};
  const std::vector<double> ref = reference(x, 4, 2);
  for (const std::size_t i : {0u, 1u, 2u, 3u, 4u, 5u}) EXPECT_TRUE(std::isnan(ref[i])) << i;
  EXPECT_EQ(ref[6], 0);
  EXPECT_EQ(ref[7], 1);
}

TEST(Reference, OneElementIsOne) {
  EXPECT_THAT(reference(std::vector<float>{-7, 1e30f}, 2, 1), testing::ElementsAre(1, 1));
}

TEST(Reference, LongRowsSumToOne) {
  constexpr std::int64_t kN = (1 << 20) + 3;
  std::vector<float> x(kN);
  inputs()[0].fill(x, 1, kN, 42);
  const std::vector<double> ref = reference(x, 1, kN);
  EXPECT_NEAR(std::accumulate(ref.begin(), ref.end(), 0.0), 1, 1e-10);
}

}  // namespace
}  // namespace softmax_dispatch::verify
