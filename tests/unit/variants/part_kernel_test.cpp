#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/arch.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Target kH200{arch_limits("sm_90"), 132};
const Target kT4{arch_limits("sm_75"), 40};

Constants with(Constants constants, const std::string& axis, std::int64_t value) {
  constants.insert_or_assign(axis, value);
  return constants;
}

const Constants kHeld{{"THREADS", 256}, {"VEC_ITEMS", 4}, {"SHARED_ITEMS", 6}, {"BLOCKS", 4}, {"STREAM", 1}};
const Constants kCluster{{"THREADS", 256},    {"PARTS", 8},  {"VEC_ITEMS", 4},
                         {"SHARED_ITEMS", 2}, {"BLOCKS", 2}, {"STREAM", 1}};
const Constants kSplit{{"THREADS", 256}, {"PARTS", 16}, {"VEC_ITEMS", 4}, {"SHARED_ITEMS", 0},
                       {"BLOCKS", 2},    {"STREAM", 1}, {"GRID", 264}};
const Constants kRing{{"THREADS", 256}, {"VEC_ITEMS", 4}, {"STAGES", 4}, {"AHEAD", 2},
                      {"BLOCKS", 2},    {"STREAM", 1},    {"GRID", 264}};
const Constants kMapMerge{{"THREADS", 256}, {"PARTS", 8}, {"VEC_ITEMS", 4}, {"BLOCKS", 4}, {"STREAM", 0}};

Geometry geometry(const char* id, const Problem& problem, const Constants& constants) {
  return registry().at(id).geometry(problem, constants);
}

std::string reason(const char* id, const Problem& problem, const Constants& constants, const Target& target = kH200) {
  const Support support = registry().at(id).supports(problem, constants, target);
  EXPECT_FALSE(support);
  return support.reason;
}

TEST(PartKernel, CapacityIsTheVectorsOfAllParts) {
  EXPECT_EQ(registry().at("held").capacity_N(DType::f32, kHeld), 256 * 10 * 4 + 3);
  EXPECT_EQ(registry().at("clusters").capacity_N(DType::f32, kCluster), 8 * 256 * 6 * 4 + 3);
  EXPECT_EQ(registry().at("clusters").capacity_N(DType::bf16, kCluster), 8 * 256 * 6 * 8 + 7);
  EXPECT_EQ(registry().at("split").capacity_N(DType::f16, kSplit), 16 * 256 * 4 * 8 + 7);
  EXPECT_EQ(registry().at("ring").capacity_N(DType::f32, kRing), 256 * 256 * 4 * 4);
  EXPECT_EQ(registry().at("ring").capacity_N(DType::f16, kRing), 256 * 256 * 4 * 8);
  EXPECT_EQ(registry().at("ring").capacity_N(DType::f32, with(kRing, "GRID", 6)), 6 * 4 * 256 * 4 * 4) << "all stages";
  EXPECT_GT(registry().at("map_merge").capacity_N(DType::f32, kMapMerge), 2'000'000'000);
}

TEST(PartKernel, ARowIsWorthwhileForAVectorOfMoreThanHalfOfTheThreads) {
  EXPECT_EQ(registry().at("held").worthwhile_N(DType::f32, kHeld), 256 * 4 / 2 + 1);
  EXPECT_EQ(registry().at("split").worthwhile_N(DType::bf16, kSplit), 16 * 256 * 8 / 2 + 1);
}

TEST(PartKernel, BlocksAndGridFollowFromTheCapacity) {
  const auto rest = [](const char* id, const Constants& constants) {
    return registry().at(id).without_capacity(constants);
  };
  EXPECT_EQ(rest("held", kHeld), rest("held", with(with(kHeld, "VEC_ITEMS", 2), "BLOCKS", 6)));
  EXPECT_NE(rest("held", kHeld), rest("held", with(kHeld, "SHARED_ITEMS", 0)));
  EXPECT_EQ(rest("split", kSplit), rest("split", with(with(kSplit, "VEC_ITEMS", 8), "GRID", 132)));
  EXPECT_NE(rest("split", kSplit), rest("split", with(kSplit, "PARTS", 8)));
}

// Of a thread, so that what it holds of a row and what it computes with stays there.
TEST(PartKernel, SweepsFillAnSmAsFarAsRegistersAndSharedMemoryGo) {
  const Ladders ladders{{"THREADS", {256}}, {"VEC_ITEMS", {1, 3, 8}}, {"SHARED_ITEMS", {0, 12}}};
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> blocks;
  for (const Constants& one : registry().at("held").enumerate(DType::f32, ladders, kH200))
    blocks[{one.at("VEC_ITEMS"), one.at("SHARED_ITEMS")}] = one.at("BLOCKS");
  EXPECT_EQ(blocks, (decltype(blocks){{{1, 0}, 8}, {{3, 0}, 8}, {{3, 12}, 4}, {{8, 0}, 4}}));
}

TEST(PartKernel, SweepsTryWhetherTheRingMarksWhatItLoads) {
  const Ladders ladders{{"THREADS", {256}}, {"VEC_ITEMS", {8}}, {"STAGES", {6}}, {"AHEAD", {3}}, {"STREAM", {1, 2}}};
  std::vector<std::int64_t> streams;
  for (const Constants& one : registry().at("ring").enumerate(DType::f32, ladders, kH200))
    streams.push_back(one.at("STREAM"));
  EXPECT_THAT(streams, testing::ElementsAre(1, 2));
}

TEST(PartKernel, SumsOfManyTermsAreLeftToOthersSoonerInF32) {
  // No configuration holds as much of a row in a thread.
  const Constants many = with(with(kHeld, "VEC_ITEMS", 16), "SHARED_ITEMS", 16);
  const Variant& held = registry().at("held");
  EXPECT_EQ(held.accurate_N(DType::f32, many), 256 * 4 * 32);
  EXPECT_EQ(held.accurate_N(DType::bf16, many), 256 * 8 * 32 + 7);
  const Variant& map_merge = registry().at("map_merge");
  EXPECT_EQ(map_merge.accurate_N(DType::f32, kMapMerge), map_merge.capacity_N(DType::f32, kMapMerge));
}

TEST(PartKernel, GeometryFollowsTheExchange) {
  const Geometry held = geometry("held", {DType::f32, 10, 5000}, kHeld);
  EXPECT_EQ(held.grid, 10);
  EXPECT_EQ(held.shared_bytes, 6 * 256 * 16);
  EXPECT_TRUE(held.overlaps);

  const Geometry cluster = geometry("clusters", {DType::f32, 10, 5000}, kCluster);
  EXPECT_EQ(cluster.grid, 80);
  EXPECT_EQ(cluster.cluster, 8);
  EXPECT_EQ(cluster.shared_bytes, 2 * 256 * 16);
  EXPECT_EQ(cluster.workspace_bytes, 0);

  const Geometry split = geometry("split", {DType::f32, 1000, 5000}, kSplit);
  EXPECT_EQ(split.grid, 256);  // 16 groups of 16, of the 264 blocks that fit
  EXPECT_TRUE(split.cooperative);
  EXPECT_EQ(split.workspace_bytes, 128 + 2 * 256 * 16);
  EXPECT_EQ(geometry("split", {DType::f32, 3, 5000}, kSplit).grid, 48);

  const Geometry ring = geometry("ring", {DType::f32, 100, 5000}, kRing);
  EXPECT_EQ(ring.parts, 2) << "of 4096 elements";
  EXPECT_EQ(ring.grid, 200);
  EXPECT_TRUE(ring.cooperative);
  EXPECT_EQ(ring.shared_bytes, 4 * 4 * 256 * 16);
  EXPECT_EQ(ring.block, 2 * 256 + 64) << "those that write and two warps beside those that reduce";
  EXPECT_EQ(ring.workspace_bytes, 128 + 100 * 2 * 16);
  EXPECT_EQ(geometry("ring", {DType::f32, 1000, 5000}, kRing).grid, 264);

  const Geometry launches = geometry("map_merge", {DType::f32, 100, 5000}, kMapMerge);
  EXPECT_EQ(launches.grid, 800);
  EXPECT_EQ(launches.phases, 2);
  EXPECT_FALSE(launches.cooperative);
  EXPECT_EQ(launches.workspace_bytes, 128 + 800 * 16);
}

TEST(PartKernel, ARowOfTheRingHasAsManyPartsAsItNeeds) {
  const auto parts = [](DType dtype, std::int64_t N) { return geometry("ring", {dtype, 3, N}, kRing).parts; };
  EXPECT_EQ(parts(DType::f32, 1), 1);
  EXPECT_EQ(parts(DType::f32, 4096), 1);
  EXPECT_EQ(parts(DType::f32, 4093), 1) << "at most three elements precede it in its first vector";
  EXPECT_EQ(parts(DType::f32, 4095), 2);
  EXPECT_EQ(parts(DType::f32, 4100), 2);
  EXPECT_EQ(parts(DType::bf16, 8185), 1);
  EXPECT_EQ(parts(DType::bf16, 8186), 2);
  EXPECT_EQ(parts(DType::bf16, 128256), 16);
  EXPECT_EQ(parts(DType::f32, 256 * 4096), 256);
  EXPECT_EQ(parts(DType::f32, 256 * 4096 - 1), 256) << "the most: such rows go by elements where they must";
}

TEST(PartKernel, RefusesWithTheReason) {
  const Problem row{DType::f32, 1, 5000};
  EXPECT_THAT(reason("clusters", row, kCluster, kT4), HasSubstr("compute capability 9.0"));
  EXPECT_THAT(reason("ring", row, kRing, kT4), HasSubstr("compute capability 9.0"));
  EXPECT_THAT(reason("clusters", row, with(kCluster, "PARTS", 1)), HasSubstr("PARTS=1 is not a power of two from 2"));
  EXPECT_THAT(reason("clusters", row, with(kCluster, "PARTS", 6)), HasSubstr("power of two"));
  EXPECT_THAT(reason("clusters", row, with(kCluster, "BLOCKS", 9)), HasSubstr("2048 threads"));
  EXPECT_THAT(reason("clusters", row, with(with(kCluster, "BLOCKS", 4), "VEC_ITEMS", 16)), HasSubstr("registers"));
  EXPECT_THAT(reason("split", row, with(with(kSplit, "SHARED_ITEMS", 16), "THREADS", 512)), HasSubstr("shared memory"));
  EXPECT_THAT(reason("split", row, with(kSplit, "GRID", 265)), HasSubstr("132 SMs hold 264"));
  EXPECT_THAT(reason("split", row, with(kSplit, "GRID", 8)), HasSubstr("no room for the PARTS=16"));
  EXPECT_THAT(reason("ring", row, with(kRing, "AHEAD", 5)), HasSubstr("AHEAD=5 parts on their way have no room"));
  EXPECT_THAT(reason("ring", row, with(kRing, "THREADS", 512)), HasSubstr("THREADS=512"));
  EXPECT_THAT(reason("ring", row, with(kRing, "BLOCKS", 4)), HasSubstr("an SM of sm_90 holds 2048 threads"));
  EXPECT_THAT(reason("ring", {DType::f32, 1'000'000, 5000}, kRing), HasSubstr("workspace of 32000128 bytes"));
  EXPECT_THAT(reason("map_merge", {DType::f32, 1 << 20, 5000}, kMapMerge), HasSubstr("workspace"));
  EXPECT_THAT(reason("clusters", {DType::f32, 1, 50000}, kCluster), HasSubstr("capacity 49155"));
}

TEST(PartKernel, OnlyTheArchitecturesWithClustersHaveThem) {
  for (const char* id : {"clusters", "ring"}) {
    EXPECT_FALSE(registry().at(id).exists(kT4.limits)) << id;
    EXPECT_THAT(registry().at(id).extremes(DType::f32, kT4), IsEmpty()) << id;
    EXPECT_TRUE(registry().at(id).exists(kH200.limits)) << id;
  }
  for (const char* id : {"held", "split", "map_merge"}) EXPECT_TRUE(registry().at(id).exists(kT4.limits)) << id;
}

TEST(PartKernel, CompletesToWhatServesTheProblem) {
  for (const char* id : {"held", "clusters", "split", "ring", "map_merge"}) {
    const Variant& variant = registry().at(id);
    for (const DType dtype : variant.dtypes()) {
      for (const std::int64_t N : {1, 7, 1000, 4097, 12345}) {
        const Problem problem{dtype, 3, N};
        const Constants constants = variant.complete(problem, {}, kH200);
        EXPECT_TRUE(variant.supports(problem, constants, kH200)) << to_string(problem) << ' ' << to_string(constants);
      }
    }
  }
}

TEST(PartKernel, ExtremesAndBoundariesAreSupported) {
  for (const char* id : {"held", "clusters", "split", "ring", "map_merge"}) {
    const Variant& variant = registry().at(id);
    for (const DType dtype : variant.dtypes()) {
      const auto extremes = variant.extremes(dtype, kH200);
      EXPECT_GE(extremes.size(), 3u) << id;
      for (const Constants& constants : extremes) {
        const auto lengths = variant.boundaries_N(dtype, constants);
        EXPECT_FALSE(lengths.empty());
        for (const std::int64_t N : lengths)
          EXPECT_TRUE(variant.supports({dtype, 2, N}, constants, kH200)) << to_string(constants) << ' ' << N;
      }
    }
  }
}

TEST(PartKernel, WhatReducesOnceHasAKernelThatDoesNothingElse) {
  const auto over = [](const char* id) -> std::optional<std::int64_t> {
    const Variant& variant = registry().at(id);
    const auto macros = variant.reduce_once(variant.extremes(DType::f32, kH200).front());
    if (!macros) return std::nullopt;
    EXPECT_GE(macros->at("PARTS"), 1) << id;
    EXPECT_FALSE(macros->contains("GRID")) << id << ": no macro";
    return macros->at("OVER");
  };
  EXPECT_EQ(over("held"), 2);
  EXPECT_EQ(over("clusters"), 3);
  EXPECT_EQ(over("split"), 4);
  EXPECT_EQ(over("map_merge"), std::nullopt) << "two launches";
  EXPECT_EQ(over("ring"), std::nullopt) << "parts of several rows at once";
}

}  // namespace
}  // namespace softmax_dispatch
