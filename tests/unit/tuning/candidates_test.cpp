#include "tuning/candidates.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "support/dtype.hpp"

namespace softmax_dispatch::tuning {
namespace {

const Target kTarget{arch_limits("sm_90"), 132};

std::vector<Config> parsed(const std::vector<std::string>& texts) {
  std::vector<Config> configs;
  for (const std::string& text : texts) configs.push_back(parse_config(text));
  return configs;
}

TEST(CandidatesAt, KeepsTheTwoLeastCapacitiesThatServe) {
  const auto configs = parsed({"v7 THREADS=256 VEC_ITEMS=1", "v7 THREADS=256 VEC_ITEMS=2", "v7 THREADS=256 VEC_ITEMS=4",
                               "v7 THREADS=128 VEC_ITEMS=4", "v5 THREADS=64"});
  EXPECT_EQ(candidates_at({DType::f32, 8, 1024}, configs, registry(), kTarget),
            parsed({"v7 THREADS=256 VEC_ITEMS=1", "v7 THREADS=256 VEC_ITEMS=2", "v7 THREADS=128 VEC_ITEMS=4",
                    "v5 THREADS=64"}));
  EXPECT_EQ(candidates_at({DType::f32, 8, 2000}, configs, registry(), kTarget),
            parsed({"v7 THREADS=256 VEC_ITEMS=2", "v7 THREADS=256 VEC_ITEMS=4", "v7 THREADS=128 VEC_ITEMS=4",
                    "v5 THREADS=64"}));
}

TEST(CandidatesAt, LaunchParametersAreNoCapacity) {
  const auto configs = parsed({"v9 GRID=132 THREADS=256 VEC_ITEMS=4", "v9 GRID=264 THREADS=256 VEC_ITEMS=4",
                               "v9 GRID=1056 THREADS=256 VEC_ITEMS=4"});
  EXPECT_EQ(candidates_at({DType::f32, 4096, 1024}, configs, registry(), kTarget), configs);
}

TEST(CandidatesAt, OnlyWhatAThreadHoldsIsACapacity) {
  // Two numbers of lanes are two candidates, each with the two least capacities of its own.
  std::vector<Config> configs;
  const Variant& lanes = registry().at("lanes");
  for (Constants& constants : lanes.enumerate(DType::f16, load_sweep("full").ladders(lanes), kTarget))
    configs.push_back({"lanes", std::move(constants), DType::f16});
  std::map<Constants, std::set<std::int64_t>> capacities;
  for (const Config& config : candidates_at({DType::f16, 4096, 100}, configs, registry(), kTarget)) {
    Constants rest = config.constants;
    rest.erase("VEC_ITEMS");
    capacities[rest].insert(lanes.capacity_N(DType::f16, config.constants));
  }
  EXPECT_GT(capacities.size(), 4U);
  for (const auto& [rest, of_rest] : capacities) EXPECT_LE(of_rest.size(), 2U) << to_string(rest);
}

// BLOCKS and GRID are worked out from what a thread holds.
TEST(CandidatesAt, WhatFollowsFromACapacityIsNoOtherConfiguration) {
  const std::string held = "held THREADS=256 SHARED_ITEMS=0 STREAM=1";
  const auto rows = parsed({held + " VEC_ITEMS=1 BLOCKS=8", held + " VEC_ITEMS=2 BLOCKS=7",
                            held + " VEC_ITEMS=4 BLOCKS=6", held + " VEC_ITEMS=8 BLOCKS=4"});
  EXPECT_EQ(candidates_at({DType::f32, 8, 2000}, rows, registry(), kTarget),
            std::vector(rows.begin() + 1, rows.begin() + 3));
  const std::string split = "split THREADS=256 PARTS=16 SHARED_ITEMS=0 STREAM=1";
  const auto parts = parsed({split + " VEC_ITEMS=1 BLOCKS=2 GRID=264", split + " VEC_ITEMS=2 BLOCKS=2 GRID=128",
                             split + " VEC_ITEMS=4 BLOCKS=2 GRID=64"});
  EXPECT_EQ(candidates_at({DType::f32, 8, 16000}, parts, registry(), kTarget),
            std::vector(parts.begin(), parts.begin() + 2));
}

TEST(CandidatesAt, ARowKeepsMoreThanHalfOfTheThreadsBusy) {
  const auto configs = parsed({"held THREADS=64 SHARED_ITEMS=0 STREAM=1 VEC_ITEMS=4 BLOCKS=16",
                               "held THREADS=256 SHARED_ITEMS=0 STREAM=1 VEC_ITEMS=1 BLOCKS=8"});
  EXPECT_EQ(candidates_at({DType::f32, 8, 512}, configs, registry(), kTarget), std::vector(1, configs[0]));
  EXPECT_EQ(candidates_at({DType::f32, 8, 513}, configs, registry(), kTarget), configs);
}

TEST(CandidatesAt, TakesNoConfigurationOfAnotherType) {
  const auto configs = parsed({"unbounded THREADS=256", "unbounded f16 THREADS=256", "unbounded bf16 THREADS=512"});
  EXPECT_EQ(candidates_at({DType::f16, 8, 1000}, configs, registry(), kTarget), parsed({"unbounded f16 THREADS=256"}));
}

TEST(CandidatesAt, StaysWithinTheAccuracyRule) {
  const auto configs = parsed({"v8 THREADS=64", "unbounded THREADS=256"});
  const std::int64_t accurate = registry().at("v8").accurate_N(DType::f32, {{"THREADS", 64}});
  EXPECT_EQ(candidates_at({DType::f32, 8, accurate}, configs, registry(), kTarget).size(), 2U);
  EXPECT_EQ(candidates_at({DType::f32, 8, accurate + 1}, configs, registry(), kTarget),
            parsed({"unbounded THREADS=256"}));
}

TEST(CandidatesAt, ARowThatIsNotAlignedHasRoomForWhatIsNoWholeVector) {
  const auto configs = parsed({"held THREADS=128 SHARED_ITEMS=0 STREAM=1 VEC_ITEMS=4 BLOCKS=8",
                               "held THREADS=128 SHARED_ITEMS=0 STREAM=1 VEC_ITEMS=5 BLOCKS=8"});
  EXPECT_EQ(candidates_at({DType::f32, 8, 2048}, configs, registry(), kTarget), configs);
  EXPECT_EQ(candidates_at({DType::f32, 8, 2045}, configs, registry(), kTarget), configs);
  EXPECT_EQ(candidates_at({DType::f32, 8, 2051}, configs, registry(), kTarget), configs);
  EXPECT_EQ(candidates_at({DType::f32, 8, 2052}, configs, registry(), kTarget), std::vector(1, configs[1]));
  const auto lanes = parsed({"lanes bf16 LANES=32 ROWS=1 STREAM=1 THREADS=128 VEC_ITEMS=4",
                             "tile bf16 ITEMS=33 LANES=32 STREAM=1 THREADS=128 TILE_ROWS=4"});
  EXPECT_EQ(candidates_at({DType::bf16, 8, 1031}, lanes, registry(), kTarget), lanes);
  EXPECT_EQ(candidates_at({DType::bf16, 8, 1032}, lanes, registry(), kTarget), std::vector(1, lanes[1]));
}

TEST(KeepCandidates, DropsWhatNoShapeHasAUseFor) {
  auto configs = parsed({"v7 THREADS=256 VEC_ITEMS=1", "v7 THREADS=256 VEC_ITEMS=2", "v7 THREADS=256 VEC_ITEMS=4",
                         "v7 THREADS=256 VEC_ITEMS=8", "v8 THREADS=64", "unbounded THREADS=256"});
  auto long_rows = configs;
  keep_candidates(configs, {{DType::f32, 8, 600}, {DType::f32, 8, 1500}}, registry(), kTarget);
  EXPECT_EQ(configs, parsed({"v7 THREADS=256 VEC_ITEMS=1", "v7 THREADS=256 VEC_ITEMS=2", "v7 THREADS=256 VEC_ITEMS=4",
                             "v8 THREADS=64", "unbounded THREADS=256"}));
  keep_candidates(long_rows, {{DType::f32, 8, 1 << 20}}, registry(), kTarget);
  EXPECT_EQ(long_rows, parsed({"unbounded THREADS=256"}));
}

TEST(SweepConfigs, HaveNoControlsAndTheUnboundedFirst) {
  for (const char* effort : {"quick", "standard", "full"}) {
    for (const DType dtype : kDTypes) {
      const auto configs = sweep_configs(load_sweep(effort), registry(), kTarget, dtype);
      ASSERT_FALSE(configs.empty());
      EXPECT_TRUE(registry().at(configs.front().variant).serves_every_shape());
      std::set<std::string> variants;
      for (const Config& config : configs) {
        variants.insert(config.variant);
        EXPECT_EQ(config.dtype, dtype) << to_string(config);
      }
      for (const Variant* variant : registry().all())
        EXPECT_EQ(variants.contains(std::string(variant->id())), variant->selectable() && variant->computes(dtype) &&
                                                                     static_cast<bool>(variant->exists(kTarget.limits)))
            << variant->id() << ' ' << to_string(dtype);
    }
  }
}

TEST(SweepConfigs, ACapacityBeyondTheAccuracyRuleIsNoOtherConfiguration) {
  Sweep sweep = load_sweep("quick");
  // v9 sums 48 elements a thread: VEC_ITEMS=12 holds them.
  sweep.rescanning = {{"THREADS", {256}}, {"VEC_ITEMS", {4, 12, 16, 48}}, {"GRID", {2}}};
  std::vector<std::string> v9;
  for (const Config& config : sweep_configs(sweep, registry(), kTarget, DType::f32))
    if (config.variant == "v9") v9.push_back(to_string(config));
  EXPECT_THAT(v9, ::testing::UnorderedElementsAre("v9 GRID=264 THREADS=256 VEC_ITEMS=4",
                                                  "v9 GRID=264 THREADS=256 VEC_ITEMS=12"));
}

TEST(SweepConfigs, EveryShapeOfAnEffortHasCandidates) {
  const Sweep sweep = load_sweep("quick");
  for (const DType dtype : kDTypes) {
    const auto configs = sweep_configs(sweep, registry(), kTarget, dtype);
    for (const Problem& problem : shapes(sweep, dtype)) {
      const auto candidates = candidates_at(problem, configs, registry(), kTarget);
      EXPECT_GE(candidates.size(), 2U) << to_string(problem);
      for (const Config& config : candidates) EXPECT_EQ(config.dtype, dtype) << to_string(config);
    }
  }
}

TEST(CoarseToFine, AnyBeginningHasEveryMAndBothClasses) {
  std::vector<Problem> all;
  for (const std::int64_t M : {1, 4, 16, 64, 256})
    for (const std::int64_t N : {8, 9, 16, 17, 32, 33, 64, 65, 128, 129}) all.push_back({DType::f32, M, N});
  const auto ordered = coarse_to_fine(all);
  EXPECT_TRUE(std::is_permutation(ordered.begin(), ordered.end(), all.begin(), all.end()));
  std::set<std::int64_t> Ms, Ns;
  for (std::size_t i = 0; i < 20; ++i) {
    Ms.insert(ordered[i].M);
    Ns.insert(ordered[i].N);
  }
  EXPECT_EQ(Ms.size(), 5U);
  EXPECT_THAT(Ns, ::testing::ElementsAre(8, 9, 128, 129)) << "the ends of both classes before any middle";
  EXPECT_THAT((std::vector{ordered[20].N, ordered[25].N}), ::testing::ElementsAre(32, 33)) << "then the middles";
}

}  // namespace
}  // namespace softmax_dispatch::tuning
