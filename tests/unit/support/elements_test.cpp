#include "support/elements.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

namespace softmax_dispatch {
namespace {

using testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class SixteenBits : public testing::TestWithParam<DType> {
 protected:
  static std::uint16_t infinity() { return GetParam() == DType::f16 ? 0x7c00 : 0x7f80; }
};

TEST_P(SixteenBits, EveryValueReadsBack) {
  for (unsigned i = 0; i <= 0xffff; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = value_of(GetParam(), bits);
    ASSERT_EQ(std::isnan(value), is_nan(GetParam(), bits)) << i;
    if (is_nan(GetParam(), bits)) continue;
    ASSERT_EQ(round_to(GetParam(), value), bits) << i;
  }
}

TEST_P(SixteenBits, OrderIsThatOfTheValues) {
  for (std::uint16_t bits = 0; bits < infinity(); ++bits) {
    const auto next = static_cast<std::uint16_t>(bits + 1);
    ASSERT_LT(value_of(GetParam(), bits), value_of(GetParam(), next)) << bits;
    ASSERT_EQ(order_of(next) - order_of(bits), 1);
    ASSERT_EQ(order_of(bits | 0x8000), -order_of(bits));
  }
  EXPECT_EQ(order_of(0x8000), order_of(0));
}

TEST_P(SixteenBits, RoundsToTheNearestAndTiesToEven) {
  for (std::uint16_t bits = 0; bits + 1 < infinity(); ++bits) {
    const auto next = static_cast<std::uint16_t>(bits + 1);
    const double below = value_of(GetParam(), bits), above = value_of(GetParam(), next);
    const double middle = (below + above) / 2, inch = (above - below) / 1024;
    ASSERT_EQ(round_to(GetParam(), middle - inch), bits) << bits;
    ASSERT_EQ(round_to(GetParam(), middle + inch), next) << bits;
    ASSERT_EQ(round_to(GetParam(), middle), bits % 2 == 0 ? bits : next) << bits;
    ASSERT_EQ(round_to(GetParam(), -middle - inch), next | 0x8000) << bits;
  }
}

TEST_P(SixteenBits, BeyondTheLargestIsInfinite) {
  const double most = largest(GetParam());
  const double unit = most - value_of(GetParam(), static_cast<std::uint16_t>(infinity() - 2));
  EXPECT_EQ(round_to(GetParam(), most + 0.49 * unit), infinity() - 1);
  EXPECT_EQ(round_to(GetParam(), most + 0.5 * unit), infinity());
  EXPECT_EQ(round_to(GetParam(), -1e300), infinity() | 0x8000);
  EXPECT_EQ(round_to(GetParam(), static_cast<double>(kInf)), infinity());
  EXPECT_EQ(round_to(GetParam(), 1e-300), 0);
  EXPECT_EQ(round_to(GetParam(), -1e-300), 0x8000);
}

TEST_P(SixteenBits, HeldValuesStayFinite) {
  const float most = largest(GetParam());
  EXPECT_EQ(held_by(GetParam(), std::numeric_limits<float>::max()), most);
  EXPECT_EQ(held_by(GetParam(), -std::numeric_limits<float>::max()), -most);
  EXPECT_EQ(held_by(GetParam(), kInf), kInf);
  EXPECT_EQ(held_by(GetParam(), -kInf), -kInf);
  EXPECT_TRUE(std::isnan(held_by(GetParam(), kNaN)));
  EXPECT_EQ(held_by(GetParam(), 1.0f), 1.0f);
}

INSTANTIATE_TEST_SUITE_P(Types, SixteenBits, testing::Values(DType::f16, DType::bf16),
                         [](const auto& dtype) { return to_string(dtype.param); });

TEST(Elements, KnownBits) {
  EXPECT_EQ(round_to(DType::f16, 1), 0x3c00);
  EXPECT_EQ(round_to(DType::f16, 65504), 0x7bff);
  EXPECT_EQ(round_to(DType::f16, 0x1p-24), 0x0001);
  EXPECT_EQ(round_to(DType::bf16, 1), 0x3f80);
  EXPECT_EQ(round_to(DType::bf16, 0x1p-133), 0x0001);
  // Rounded once: by way of FP32 this would be a tie, and end at an even one.
  EXPECT_EQ(round_to(DType::f16, 1 + 0x1p-11 + 0x1p-40), 0x3c01);
}

TEST(Elements, LieInMemoryAsTheTypeHasThem) {
  const std::vector<float> values{1, -2, 0.5f};
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const std::vector<std::byte> elements = to_elements(dtype, values);
    EXPECT_EQ(elements.size(), 3 * size_of(dtype));
    EXPECT_THAT(to_values(dtype, elements), ElementsAre(1, -2, 0.5f));
  }
  EXPECT_THAT(to_elements(DType::f16, values),
              ElementsAre(std::byte{0}, std::byte{0x3c}, std::byte{0}, std::byte{0xc0}, std::byte{0}, std::byte{0x38}));
}

}  // namespace
}  // namespace softmax_dispatch
