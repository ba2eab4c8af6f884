#include "verify/shapes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "support/arch.hpp"
#include "support/config.hpp"
#include "support/configs.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::verify {
namespace {

using testing::AllOf;
using testing::Contains;

std::set<std::int64_t> lengths_of(const std::vector<Shape>& all) {
  std::set<std::int64_t> result;
  for (const Shape& shape : all) result.insert(shape.N);
  return result;
}

/// The full shapes of a configuration of the product.
std::vector<Shape> shapes_of(const std::string& text, Depth depth = Depth::full) {
  const Config config = parse_config(text);
  const Variant& variant = registry().at(config.variant);
  return shapes(variant, config.dtype, config.constants, variant.accurate_N(config.dtype, config.constants), depth);
}

class ShapesOf : public testing::TestWithParam<std::string> {};

TEST_P(ShapesOf, CoverTheBoundariesOfEveryExtreme) {
  const Variant& variant = registry().at(GetParam());
  for (const auto& [id, constants, dtype] : extremes_of(variant, {arch_limits("sm_75"), 40})) {
    const std::int64_t N_to = variant.accurate_N(dtype, constants);
    const std::vector<Shape> all = shapes(variant, dtype, constants, N_to, Depth::full);
    const std::set<std::int64_t> lengths = lengths_of(all);
    SCOPED_TRACE(to_string(constants));
    for (const std::int64_t N : {1, 2, 3, 4, 5}) EXPECT_EQ(lengths.contains(N), N <= N_to) << N;
    for (const std::int64_t boundary : variant.boundaries_N(dtype, constants)) {
      if (boundary > 65536) continue;
      EXPECT_TRUE(lengths.contains(boundary)) << boundary;
      EXPECT_TRUE(boundary == 1 || lengths.contains(boundary - 1)) << boundary;
      for (std::int64_t N = boundary + 1; N <= std::min(boundary + 3, N_to); ++N) EXPECT_TRUE(lengths.contains(N)) << N;
    }
    EXPECT_LE(*lengths.rbegin(), N_to);
    EXPECT_GE(*lengths.rbegin(), std::min<std::int64_t>(N_to, 1 << 20));
    const std::int64_t per_block = variant.rows_per_block(constants);
    EXPECT_THAT(all, Contains(testing::Field(&Shape::M, 1)));
    EXPECT_THAT(all, Contains(testing::Field(&Shape::M, per_block + 1)));
    EXPECT_THAT(all, Contains(testing::Field(&Shape::M, 2 * per_block + 1)));
    // Kernels with a workspace are for few rows.
    const bool for_few = variant.geometry({dtype, 1, 1}, constants).workspace_bytes > 0;
    EXPECT_THAT(all, Contains(testing::Field(&Shape::M, testing::Gt(for_few ? 1000 : 65535))));
    if (per_block > 2) {
      EXPECT_THAT(all, Contains(testing::Field(&Shape::M, per_block - 1)));
    }
  }
}

TEST_P(ShapesOf, BriefOnesAreFewAndSmall) {
  const Variant& variant = registry().at(GetParam());
  for (const auto& [id, constants, dtype] : extremes_of(variant, {arch_limits("sm_75"), 40})) {
    const std::int64_t N_to = variant.accurate_N(dtype, constants);
    const std::vector<Shape> brief = shapes(variant, dtype, constants, N_to, Depth::brief);
    std::int64_t elements = 0;
    for (const Shape& shape : brief) {
      elements += shape.M * shape.N;
      EXPECT_LE(shape.N, N_to);
    }
    SCOPED_TRACE(to_string(constants));
    EXPECT_LE(brief.size(), 60u);
    EXPECT_LE(elements, 4'000'000);
    EXPECT_THAT(lengths_of(brief), Contains(N_to > 1 << 18 ? (1 << 16) + 3 : N_to));
  }
}

std::vector<std::string> ids() {
  std::vector<std::string> result;
  for (const Variant* variant : registry().all()) result.emplace_back(variant->id());
  return result;
}
INSTANTIATE_TEST_SUITE_P(Variants, ShapesOf, testing::ValuesIn(ids()), [](const auto& id) { return id.param; });

TEST(Shapes, LeaveOneLiveWarpInTheLastBlock) {
  const std::vector<Shape> all = shapes_of("v8 THREADS=256");
  EXPECT_THAT(all, Contains(Shape{1025, 257}));
  EXPECT_THAT(all, Contains(Shape{9, 257}));
}

TEST(Shapes, GiveTheFirstBlocksOfAGridOneRowMore) {
  const std::vector<Shape> all = shapes_of("v9 GRID=100 THREADS=256 VEC_ITEMS=1");
  for (const std::int64_t M : {99, 100, 101, 201}) EXPECT_THAT(all, Contains(Shape{M, 257}));
}

TEST(Shapes, UnboundedLengthsTakeEveryRemainder) {
  std::set<std::int64_t> remainders;
  for (const std::int64_t N : lengths_of(shapes_of("unbounded THREADS=256"))) {
    if (N >= 4096) remainders.insert(N % 4);
  }
  EXPECT_EQ(remainders, (std::set<std::int64_t>{0, 1, 2, 3}));
}

// A simulated device runs each block by itself.
TEST(Shapes, OfManyBlocksForARowAreOfFewerRowsOnASimulatedDevice) {
  const auto simulated = [](const std::string& text) {
    const Config config = parse_config(text);
    const Variant& variant = registry().at(config.variant);
    return shapes(variant, config.dtype, config.constants, variant.accurate_N(config.dtype, config.constants),
                  Depth::full, true);
  };
  const std::string many = "map_merge BLOCKS=4 PARTS=64 STREAM=0 THREADS=256 VEC_ITEMS=4";
  EXPECT_EQ(lengths_of(simulated(many)), lengths_of(shapes_of(many)));
  EXPECT_THAT(simulated(many), AllOf(Contains(Shape{7, 256}), Contains(Shape{1025, 257})));
  EXPECT_THAT(shapes_of(many), AllOf(Contains(Shape{59, 256}), Contains(Shape{1025, 257}), Contains(Shape{1001, 1})));
  for (const char* other :
       {"v7 THREADS=1024 VEC_ITEMS=4", "map_merge BLOCKS=4 PARTS=4 STREAM=0 THREADS=64 VEC_ITEMS=4"})
    EXPECT_THAT(simulated(other), Contains(Shape{59, 128})) << other;
  EXPECT_EQ(simulated("v7 THREADS=1024 VEC_ITEMS=4"), shapes_of("v7 THREADS=1024 VEC_ITEMS=4"));
}

TEST(Shapes, StackAllInputsWhileRowsAreShort) {
  EXPECT_EQ(stacked_inputs(1025, Depth::full), stacked_inputs(1, Depth::full));
  EXPECT_GT(stacked_inputs(1, Depth::full), 50);
  EXPECT_GE(stacked_inputs(1 << 20, Depth::full), 5);
  EXPECT_GE(stacked_inputs(1 << 18, Depth::brief), 5);
}

}  // namespace
}  // namespace softmax_dispatch::verify
