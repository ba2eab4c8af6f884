#include "variants/vector_kernel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "support/dtype.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch {
namespace {

using testing::HasSubstr;

const Target kT4{arch_limits("sm_75"), 40};
const Target kH200{arch_limits("sm_90"), 132};

const Constants kLanes{{"LANES", 8}, {"ROWS", 2}, {"STREAM", 1}, {"THREADS", 128}, {"VEC_ITEMS", 3}};
const Constants kWarp{{"LANES", 32}, {"ROWS", 1}, {"STREAM", 1}, {"THREADS", 128}, {"VEC_ITEMS", 4}};
const Constants kTile{{"ITEMS", 10}, {"LANES", 8}, {"STREAM", 1}, {"THREADS", 128}, {"TILE_ROWS", 16}};

Constants with(Constants constants, const char* axis, std::int64_t value) {
  constants[axis] = value;
  return constants;
}

TEST(VectorKernel, LanesHoldLessThanAVectorBesideTheirVectorsWhereverARowBegins) {
  const Variant& lanes = registry().at("lanes");
  EXPECT_EQ(lanes.capacity_N(DType::f32, kLanes), 96 + 3);
  EXPECT_EQ(lanes.capacity_N(DType::bf16, kLanes), 192 + 7);
  EXPECT_EQ(lanes.capacity_N(DType::f16, kWarp), 1024 + 7);
  EXPECT_EQ(lanes.unaligned_N(DType::f16, kWarp), 1024 + 7);
  EXPECT_EQ(lanes.unaligned_N(DType::f32, with(kLanes, "LANES", 4)), 48 + 3);
  EXPECT_EQ(lanes.unaligned_N(DType::bf16, with(kLanes, "LANES", 4)), 0) << "two elements a lane beside the vectors";
  const auto items = [&](std::int64_t N) {
    return lanes.complete({DType::bf16, 7, N}, {{"LANES", 8}}, kT4).at("VEC_ITEMS");
  };
  EXPECT_EQ(items(1), 1);
  EXPECT_EQ(items(71), 1);
  EXPECT_EQ(items(72), 2);
  EXPECT_EQ(items(135), 2);
  EXPECT_EQ(items(136), 3);
}

TEST(VectorKernel, TileOfA16BitTypeKeepsOneElementForARowThatBeginsWithinAWord) {
  const Variant& tile = registry().at("tile");
  EXPECT_EQ(tile.capacity_N(DType::f32, kTile), 80);
  EXPECT_EQ(tile.capacity_N(DType::f16, kTile), 79);
  EXPECT_EQ(tile.capacity_N(DType::bf16, with(kTile, "ITEMS", 11)), 88) << "its lanes have words for 96";
  EXPECT_EQ(tile.capacity_N(DType::bf16, with(kTile, "LANES", 1)), 10) << "a lane with its own rows takes elements";
  for (const std::int64_t N : {79, 80, 81}) {
    const Problem problem{DType::bf16, 7, N};
    EXPECT_TRUE(tile.supports(problem, tile.complete(problem, {{"LANES", 8}}, kT4), kT4)) << N;
  }
}

TEST(VectorKernel, GridIsWhatTheRowsNeed) {
  const auto grid = [](const char* id, std::int64_t M, const Constants& constants) {
    return registry().at(id).geometry({DType::f32, M, 5}, constants).grid;
  };
  EXPECT_EQ(grid("lanes", 33, kLanes), 2) << "32 rows of a block";
  EXPECT_EQ(grid("lanes", 1055, kWarp), 264) << "4 rows of a block";
  EXPECT_EQ(grid("lanes", 1052, kWarp), 263);
  EXPECT_EQ(grid("tile", 33, kTile), 3);
}

TEST(VectorKernel, MoreRowsThanAGridHasBlocksForAreForOthers) {
  const std::int64_t most = (std::int64_t{1} << 31) - 1;
  const auto supports = [](const char* id, std::int64_t M, const Constants& constants) {
    return registry().at(id).supports({DType::f32, M, 5}, constants, kH200);
  };
  EXPECT_TRUE(supports("lanes", 4 * most, kWarp));
  EXPECT_FALSE(supports("lanes", 4 * most + 1, kWarp));
  EXPECT_TRUE(supports("tile", 16 * most, kTile));
  EXPECT_THAT(supports("tile", 16 * most + 1, kTile).reason, HasSubstr("2^31 - 1 blocks"));
}

TEST(VectorKernel, LaunchesOverlap) {
  EXPECT_TRUE(registry().at("lanes").geometry({DType::f32, 1, 1}, kLanes).overlaps);
  EXPECT_TRUE(registry().at("tile").geometry({DType::f32, 1, 1}, kTile).overlaps);
}

TEST(VectorKernel, TileTakesTheVectorsThatCoverItWhereverItBegins) {
  const Variant& tile = registry().at("tile");
  EXPECT_EQ(tile.geometry({DType::f32, 100, 77}, kTile).shared_bytes, 16 * 77 * 4 + 16);
  EXPECT_EQ(tile.geometry({DType::bf16, 100, 77}, with(kTile, "TILE_ROWS", 8)).shared_bytes, 8 * 77 * 2 + 16);
  // 11 elements that begin with the last one of a vector: 1 + 8 + 2 of them.
  EXPECT_EQ(tile.geometry({DType::bf16, 1, 11}, with(kTile, "TILE_ROWS", 1)).shared_bytes, 48);
}

TEST(VectorKernel, RefusesWithTheReasonBeforeCompiling) {
  const auto reason = [](const char* id, const Problem& problem, const Constants& constants) {
    const Support support = registry().at(id).supports(problem, constants, kT4);
    EXPECT_FALSE(support) << id << ' ' << to_string(constants);
    return support.reason;
  };
  EXPECT_THAT(reason("lanes", {DType::f32, 1, 100}, kLanes), HasSubstr("N=100 is above the capacity 99"));
  EXPECT_THAT(reason("lanes", {DType::f32, 1, 1}, with(kLanes, "LANES", 6)), HasSubstr("power of two"));
  EXPECT_THAT(reason("lanes", {DType::f32, 1, 1}, with(with(kWarp, "THREADS", 1024), "VEC_ITEMS", 13)),
              HasSubstr("local memory"));
  EXPECT_THAT(reason("tile", {DType::f32, 1, 1}, with(kTile, "TILE_ROWS", 512)),
              HasSubstr("163856 bytes of shared memory"));
  EXPECT_TRUE(registry().at("tile").supports(DType::f32, with(kTile, "TILE_ROWS", 512), kH200));
}

TEST(VectorKernel, CompleteServesEveryTypeUpToTheCapacity) {
  for (const char* id : {"lanes", "tile"}) {
    const Variant& variant = registry().at(id);
    for (const DType dtype : kDTypes) {
      for (const std::int64_t N : {1, 5, 64, 257, 1023, 1024, 4097}) {
        const Problem problem{dtype, 1000, N};
        EXPECT_TRUE(variant.supports(problem, variant.complete(problem, {}, kT4), kT4)) << id << ' ' << N;
      }
    }
  }
}

TEST(VectorKernel, FewerLanesThanAWarpTakeUpToFourVectorsEach) {
  const Ladders ladders{{"THREADS", {128, 256}},
                        {"LANES", {1, 8, 16, 32}},
                        {"ROWS", {1}},
                        {"STREAM", {0, 1}},
                        {"VEC_ITEMS", {1, 3, 4, 5, 8}}};
  std::map<std::int64_t, std::set<std::int64_t>> items;
  std::set<std::int64_t> streams;
  for (const Constants& one : registry().at("lanes").enumerate(DType::f16, ladders, kH200)) {
    items[one.at("LANES")].insert(one.at("VEC_ITEMS"));
    streams.insert(one.at("STREAM"));
    EXPECT_EQ(one.at("THREADS"), 128);
  }
  const std::set<std::int64_t> few{1, 3, 4}, all{1, 3, 4, 5, 8};
  EXPECT_EQ(items, (decltype(items){{1, few}, {8, few}, {16, few}, {32, all}}));
  EXPECT_EQ(streams, (std::set<std::int64_t>{0, 1}));
}

TEST(VectorKernel, ATileOfOneLanePerRowIsTriedWithFewAndManyShortRows) {
  const Ladders ladders{{"THREADS", {128, 256}},
                        {"LANES", {1, 2}},
                        {"ITEMS", {3, 4, 8, 16, 20}},
                        {"TILE_ROWS", {64, 128, 256, 512, 1024}},
                        {"STREAM", {1}}};
  for (const DType dtype : kDTypes) {
    std::map<std::int64_t, std::set<std::int64_t>> items, rows;
    for (const Constants& one : registry().at("tile").enumerate(dtype, ladders, kH200)) {
      items[one.at("LANES")].insert(one.at("ITEMS"));
      rows[one.at("LANES")].insert(one.at("TILE_ROWS"));
    }
    EXPECT_EQ(items[1], (std::set<std::int64_t>{3, 4, 8, 16}));
    EXPECT_EQ(rows[1], (std::set<std::int64_t>{128, 512, 1024}));
    EXPECT_EQ(items[2], dtype == DType::f32 ? (std::set<std::int64_t>{8}) : (std::set<std::int64_t>{8, 16, 20}));
    EXPECT_EQ(rows[2], (std::set<std::int64_t>{64, 128, 256}));
  }
}

TEST(VectorKernel, LanesThatTakeAVectorsElementsOneEachAreWorthwhileForTheShortestRows) {
  const Variant& lanes = registry().at("lanes");
  EXPECT_EQ(lanes.worthwhile_N(DType::f32, with(kLanes, "LANES", 4)), 1);
  EXPECT_EQ(lanes.worthwhile_N(DType::bf16, kLanes), 1);
  EXPECT_EQ(lanes.worthwhile_N(DType::f32, kLanes), 17);
  EXPECT_EQ(lanes.worthwhile_N(DType::f32, with(kLanes, "LANES", 2)), 5);
  EXPECT_EQ(registry().at("tile").worthwhile_N(DType::bf16, kTile), 5);
  EXPECT_EQ(registry().at("tile").worthwhile_N(DType::bf16, with(kTile, "LANES", 1)), 1);
}

TEST(VectorKernel, HasAKernelThatReducesOnceAndDoesNothingElse) {
  Constants expected = kLanes;
  expected["OVER"] = 0;
  EXPECT_EQ(registry().at("lanes").reduce_once(kLanes), expected);
  expected = kTile;
  expected["OVER"] = 1;
  EXPECT_EQ(registry().at("tile").reduce_once(kTile), expected);
}

}  // namespace
}  // namespace softmax_dispatch
