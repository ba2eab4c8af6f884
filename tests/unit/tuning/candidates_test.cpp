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

/// Values of STREAM among the candidates at a shape, of a configuration with each of those given.
std::set<std::int64_t> streams_at(const Problem& problem, const std::string& text,
                                  const std::vector<std::int64_t>& values = {0, 1}) {
  std::vector<Config> configs;
  for (const std::int64_t value : values) {
    Config config = parse_config(text);
    config.dtype = problem.dtype;
    config.constants["STREAM"] = value;
    configs.push_back(std::move(config));
  }
  std::set<std::int64_t> result;
  for (const Config& config : candidates_at(problem, configs, registry(), kTarget))
    result.insert(config.constants.at("STREAM"));
  return result;
}

const std::set<std::int64_t> kPlain{0}, kStreamed{1}, kBoth{0, 1};
constexpr char kLanes[] = "lanes LANES=32 ROWS=1 STREAM=1 THREADS=128 VEC_ITEMS=8";
constexpr char kHeld[] = "held BLOCKS=1 SHARED_ITEMS=0 STREAM=1 THREADS=512 VEC_ITEMS=8";
constexpr char kHeldShared[] = "held BLOCKS=1 SHARED_ITEMS=6 STREAM=1 THREADS=512 VEC_ITEMS=2";

TEST(Streams, ManyShortRowsWithoutAlignmentAreStoredPlainly) {
  EXPECT_EQ(streams_at({DType::f32, 1 << 16, 1001}, kLanes), kPlain);
  EXPECT_EQ(streams_at({DType::f32, 1 << 16, 1000}, kLanes), kStreamed) << "aligned";
  EXPECT_EQ(streams_at({DType::f16, 1 << 16, 1004}, kLanes), kPlain) << "four elements are no vector of these";
  EXPECT_EQ(streams_at({DType::f16, 1 << 16, 1000}, kLanes), kStreamed);
}

TEST(Streams, AMatrixThatStaysInTheCacheIsStreamed) {
  // Read and written it has 16 MiB at 2095.1 rows.
  EXPECT_EQ(streams_at({DType::f32, 2095, 1001}, kLanes), kStreamed);
  EXPECT_EQ(streams_at({DType::f32, 2096, 1001}, kLanes), kPlain);
}

TEST(Streams, ALongRowIsStreamed) {
  EXPECT_EQ(streams_at({DType::f32, 1 << 14, 8191}, kHeld), kPlain);
  EXPECT_EQ(streams_at({DType::f32, 1 << 14, 8193}, kHeld), kStreamed) << "more than 32 KiB";
  EXPECT_EQ(streams_at({DType::bf16, 1 << 14, 8193}, kHeld), kPlain) << "half as many bytes";
}

TEST(Streams, BothAreTriedWhereSharedMemoryHoldsAlignedRows) {
  EXPECT_EQ(streams_at({DType::f32, 1 << 14, 8192}, kHeldShared), kBoth);
  EXPECT_EQ(streams_at({DType::f32, 1 << 14, 8192}, kHeld), kStreamed);
  EXPECT_EQ(streams_at({DType::f32, 1 << 14, 8191}, kHeldShared), kPlain);
  EXPECT_EQ(streams_at({DType::f32, 1 << 14, 8193}, kHeldShared), kStreamed);
}

TEST(Streams, TheOnlyOneOfASweepIsKept) {
  for (const std::int64_t M : {16, 1 << 16}) {
    for (const std::int64_t N : {1000, 1001}) {
      EXPECT_EQ(streams_at({DType::f32, M, N}, kLanes, {0}), kPlain) << M << 'x' << N;
      EXPECT_EQ(streams_at({DType::f32, M, N}, kLanes, {1}), kStreamed) << M << 'x' << N;
    }
  }
}

TEST(Streams, OneOfTheTwoLeastCapacitiesIsNotLostToTheOtherValue) {
  const auto configs = parsed({"lanes LANES=32 ROWS=1 STREAM=0 THREADS=128 VEC_ITEMS=8",
                               "lanes LANES=32 ROWS=1 STREAM=1 THREADS=128 VEC_ITEMS=8",
                               "lanes LANES=32 ROWS=1 STREAM=0 THREADS=128 VEC_ITEMS=12",
                               "lanes LANES=32 ROWS=1 STREAM=1 THREADS=128 VEC_ITEMS=12",
                               "lanes LANES=32 ROWS=1 STREAM=1 THREADS=128 VEC_ITEMS=16"});
  EXPECT_EQ(candidates_at({DType::f32, 1 << 16, 1000}, configs, registry(), kTarget),
            (std::vector{configs[1], configs[3]}));
  // The largest has no other value beside it, and is the least capacity of its own.
  EXPECT_EQ(candidates_at({DType::f32, 1 << 16, 1001}, configs, registry(), kTarget),
            (std::vector{configs[0], configs[2], configs[4]}));
}

TEST(Streams, AShapeOfTheStandardSweepHasOneValueForEachConfiguration) {
  const Sweep sweep = load_sweep("standard");
  const auto configs = sweep_configs(sweep, registry(), kTarget, DType::f32);
  for (const Problem& problem : {Problem{DType::f32, 1 << 16, 1001}, Problem{DType::f32, 1 << 16, 1000}}) {
    const auto candidates = candidates_at(problem, configs, registry(), kTarget);
    std::set<Config> twins;
    for (Config config : candidates) {
      const auto shared = config.constants.find("SHARED_ITEMS");
      if (!config.constants.contains("STREAM") || (shared != config.constants.end() && shared->second > 0)) continue;
      config.constants["STREAM"] = 0;
      EXPECT_TRUE(twins.insert(config).second) << to_string(config);
    }
    EXPECT_GE(twins.size(), 4U);
  }
  const auto streams = [&](const char* id) {
    std::set<std::int64_t> values;
    for (const Config& config : configs)
      if (config.variant == id) values.insert(config.constants.at("STREAM"));
    return values;
  };
  for (const char* id : {"lanes", "held"}) EXPECT_EQ(streams(id), kBoth) << id;
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
