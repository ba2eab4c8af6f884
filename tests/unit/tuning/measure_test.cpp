#include "tuning/measure.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "support/elements.hpp"
#include "support/fake_device.hpp"

namespace softmax_dispatch::tuning::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Problem kSmall{DType::f32, 16, 256};  // 32 KiB for x and y together
/// More than four times the fake device's L2 of 1 MiB, 8 MiB: at its 64 GB/s not below 131 us.
constexpr Problem kLarge{DType::f32, 1024, 1024};
constexpr double kLargeFloorUs = 131.072;

class MeasureTest : public ::testing::Test {
 protected:
  MeasureTest() {
    device_.time_us = [this](const Launch& launch) {
      launches_.push_back(launch);
      std::vector<double>& script = times_us_[launch.kernel];
      if (script.size() == 1) return script.front();
      const double time_us = script.front();
      script.erase(script.begin());
      return time_us;
    };
  }

  /// A candidate whose launches take the times in turn, and from then on the last of them.
  void add(std::vector<double> times_us) {
    kernels_.push_back(FakeDevice::kernel([](const Launch&) {}));
    times_us_[kernels_.back().get()] = std::move(times_us);
    const auto number = static_cast<std::int64_t>(candidates_.size());
    candidates_.push_back({{"v2", {{"THREADS", 32 * (number + 1)}}}, kernels_.back().get(), {1, 32, 0}});
  }

  TimingPlan plan(int replays, double race_factor = 0, int max_launches = 4) const {
    TimingPlan plan;
    plan.replays = replays;
    plan.race_factor = race_factor;
    plan.max_launches = max_launches;
    return plan;
  }

  FakeDevice device_;
  std::vector<std::string> announced_;
  Measurer measurer_{device_, [this](const std::string& text) { announced_.push_back(text); }};
  std::vector<std::shared_ptr<const LoadedKernel>> kernels_;
  std::vector<MeasureCandidate> candidates_;
  std::map<const LoadedKernel*, std::vector<double>> times_us_;
  std::vector<Launch> launches_;
};

TEST(RotationOf, FollowsTheBenchmarksLayout) {
  constexpr std::int64_t kL2 = 50 << 20;
  EXPECT_EQ(rotation_of({DType::f32, 1, 128}, kL2, 256).pairs, 64U);
  EXPECT_EQ(rotation_of({DType::f32, 1, 128}, kL2, 256).launches, 256U);
  EXPECT_EQ(rotation_of({DType::f32, 1, 128}, kL2, 64).launches, 64U);
  // 32 MiB: ceil(200 / 32) = 7 pairs; ceil(2e8 / 33.5e6) = 6 launches are raised to one round of pairs.
  EXPECT_EQ(rotation_of({DType::f32, 1024, 4096}, kL2, 256).pairs, 7U);
  EXPECT_EQ(rotation_of({DType::f32, 1024, 4096}, kL2, 256).launches, 7U);
  EXPECT_EQ(rotation_of({DType::f32, 8192, 4096}, kL2, 256).pairs, 1U);
  EXPECT_EQ(rotation_of({DType::f32, 8192, 4096}, kL2, 256).launches, 1U);
  // 2 MiB: 64 pairs and ceil(2e8 / 2.1e6) = 96 launches, of which whole rounds are kept.
  EXPECT_EQ(rotation_of({DType::f32, 256, 1024}, kL2, 256).launches, 64U);
}

TEST_F(MeasureTest, EveryCandidateGetsItsSamplesInItsOwnOrder) {
  add({3});
  add({1});
  add({2});
  const auto results = measurer_.time(kSmall, candidates_, plan(5));
  ASSERT_THAT(results, SizeIs(3));
  EXPECT_THAT(results[0].samples_us, ::testing::AllOf(SizeIs(5), Each(3.0)));
  EXPECT_THAT(results[1].samples_us, ::testing::AllOf(SizeIs(5), Each(1.0)));
  EXPECT_THAT(results[2].samples_us, ::testing::AllOf(SizeIs(5), Each(2.0)));
}

TEST_F(MeasureTest, ReplaysAreInterleavedInAnOrderThatFollowsTheSeed) {
  for (int i = 0; i < 6; ++i) add({1});
  const auto order_of = [&](std::uint64_t seed) {
    announced_.clear();
    TimingPlan seeded = plan(4);
    seeded.seed = seed;
    Measurer(device_, [this](const std::string& text) {
      announced_.push_back(text);
    }).time(kSmall, candidates_, seeded);
    return std::vector<std::string>(announced_.end() - 24, announced_.end());
  };
  const auto first = order_of(1);
  std::set<std::vector<std::string>> rounds;
  for (std::size_t round = 0; round < 4; ++round) {
    const auto begin = first.begin() + static_cast<std::ptrdiff_t>(6 * round);
    EXPECT_THAT(std::set<std::string>(begin, begin + 6), SizeIs(6)) << "each candidate once in every round";
    rounds.emplace(begin, begin + 6);
  }
  EXPECT_GT(rounds.size(), 1U);
  EXPECT_EQ(order_of(1), first);
  EXPECT_NE(order_of(2), first);
}

TEST_F(MeasureTest, BuffersRotateAndHoldRandomNumbers) {
  add({1});
  measurer_.time(kSmall, candidates_, plan(1, 0, 256));
  const Rotation rotation = rotation_of(kSmall, device_.info().l2_bytes, 256);
  ASSERT_GT(rotation.pairs, 1U);
  std::set<DevicePtr> inputs, outputs;
  for (const Launch& launch : launches_) {
    inputs.insert(launch.x);
    outputs.insert(launch.y);
    EXPECT_EQ(launch.x % 256, 0U);
    EXPECT_EQ(launch.y % 256, 0U);
  }
  EXPECT_EQ(inputs.size(), rotation.pairs);
  EXPECT_EQ(outputs.size(), rotation.pairs);
  for (const DevicePtr input : inputs) {
    const float* x = host_pointer(input);
    const auto [least, most] = std::minmax_element(x, x + kSmall.M * kSmall.N);
    EXPECT_GE(*least, -10.0F);
    EXPECT_LT(*least, -9.5F);
    EXPECT_GT(*most, 9.5F);
    EXPECT_LT(*most, 10.0F);
  }
}

TEST_F(MeasureTest, TheNumbersAreOfTheProblemsType) {
  add({1});
  constexpr Problem kHalves{DType::f16, 16, 256};
  for (const Problem& problem : {kSmall, kHalves, kSmall}) {
    launches_.clear();
    measurer_.time(problem, candidates_, plan(1, 0, 256));
    ASSERT_FALSE(launches_.empty());
    const std::size_t bytes = 16 * 256 * size_of(problem.dtype);
    const auto* input = reinterpret_cast<const std::byte*>(host_pointer(launches_[0].x));
    const std::vector<float> x = to_values(problem.dtype, std::span(input, bytes));
    const auto [least, most] = std::minmax_element(x.begin(), x.end());
    EXPECT_GE(*least, -10.0F);
    EXPECT_LT(*least, -9.5F);
    EXPECT_GT(*most, 9.5F);
    EXPECT_LE(*most, 10.0F);
    EXPECT_EQ(launches_[0].element_bytes, static_cast<int>(size_of(problem.dtype)));
  }
}

TEST_F(MeasureTest, LaunchesOfAProblemShareAZeroedWorkspace) {
  add({1});
  add({1});
  add({1});
  candidates_[0].geometry.workspace_bytes = 1024;
  candidates_[1].geometry.workspace_bytes = 4096;
  measurer_.time(kSmall, candidates_, plan(2));
  std::set<DevicePtr> workspaces;
  for (const Launch& launch : launches_) {
    const bool wants = launch.geometry.workspace_bytes > 0;
    EXPECT_EQ(launch.workspace != 0, wants);
    if (wants) workspaces.insert(launch.workspace);
  }
  ASSERT_THAT(workspaces, SizeIs(1));
  EXPECT_EQ(*workspaces.begin() % 256, 0U);
  const auto* words = reinterpret_cast<const char*>(host_pointer(*workspaces.begin()));
  EXPECT_TRUE(std::all_of(words, words + 4096, [](char byte) { return byte == 0; }));
  // Where a later candidate needs a larger one, no recorded launch names what was released.
  candidates_[2].geometry.workspace_bytes = 1 << 16;
  launches_.clear();
  measurer_.time(kSmall, candidates_, plan(2));
  workspaces.clear();
  for (const Launch& launch : launches_) workspaces.insert(launch.workspace);
  EXPECT_THAT(workspaces, SizeIs(1));
}

TEST_F(MeasureTest, TheCopyOfHalvesIsToldTheirBytesAsFloats) {
  add({0.5});
  constexpr Problem kHalves{DType::bf16, 3, 5};
  candidates_[0].view = Problem{DType::f32, 1, 8};
  EXPECT_NEAR(measurer_.copy_limit_us(kHalves, candidates_, plan(3)), 0.5, 1e-9);
  for (const Launch& launch : launches_) {
    EXPECT_EQ(launch.M, 1);
    EXPECT_EQ(launch.N, 8);
    EXPECT_EQ(launch.element_bytes, 4);
  }
}

TEST_F(MeasureTest, WhatLosesTheRaceKeepsOneSample) {
  add({200});
  add({700});       // out after its probe
  add({200, 500});  // out after its first replay
  add({390});
  const auto results = measurer_.time(kLarge, candidates_, plan(3, 2, 1));
  EXPECT_THAT(results[0].samples_us, SizeIs(3));
  EXPECT_THAT(results[1].samples_us, ::testing::ElementsAre(700));
  EXPECT_THAT(results[2].samples_us, ::testing::ElementsAre(500));
  EXPECT_THAT(results[3].samples_us, SizeIs(3));
}

TEST_F(MeasureTest, ASlowKernelHasFewerLaunchesInAGraph) {
  add({1});
  add({3000});
  measurer_.time(kSmall, candidates_, plan(1, 0, 64));
  const auto count = [&](std::size_t i) {
    return std::count_if(launches_.begin(), launches_.end(),
                         [&](const Launch& launch) { return launch.kernel == candidates_[i].kernel; });
  };
  EXPECT_EQ(count(0), 1 + 2 * 64) << "a probe, a first replay and a sample";
  EXPECT_EQ(count(1), 1 + 2 * 2);
}

TEST_F(MeasureTest, FinalistsAreNotRecordedAgain) {
  add({1});
  add({2});
  measurer_.time(kSmall, candidates_, plan(2));
  launches_.clear();
  const auto results = measurer_.time(kSmall, std::span(candidates_).first(1), plan(5));
  EXPECT_THAT(results[0].samples_us, SizeIs(5));
  EXPECT_EQ(launches_.size(), 5 * rotation_of(kSmall, device_.info().l2_bytes, 4).launches)
      << "neither probe nor first replay";
}

TEST_F(MeasureTest, TimesBelowTheMemorysReachAreDropped) {
  add({kLargeFloorUs * 1.01});
  add({kLargeFloorUs * 0.99});
  // Probe, first, and before each sample an untimed replay.
  add({kLargeFloorUs * 1.5, kLargeFloorUs * 1.5, kLargeFloorUs * 1.5, kLargeFloorUs * 0.5, kLargeFloorUs * 1.5});
  const auto results = measurer_.time(kLarge, candidates_, plan(4, 0, 1));
  EXPECT_THAT(results[0].samples_us, SizeIs(4));
  EXPECT_EQ(results[0].error, std::nullopt);
  EXPECT_THAT(results[1].samples_us, IsEmpty());
  EXPECT_THAT(results[1].error.value_or(""), HasSubstr("64 GB/s"));
  EXPECT_THAT(results[2].samples_us, SizeIs(3));
  EXPECT_EQ(results[2].error, std::nullopt);
}

TEST_F(MeasureTest, NoSampleOfALargeMatrixStartsFromWhatAnotherCandidateLeftInL2) {
  add({200});
  add({200});
  add({200});
  const LoadedKernel* previous = nullptr;
  device_.time_us = [&](const Launch& launch) {
    const bool after_dirty = previous == candidates_[1].kernel;
    previous = launch.kernel;
    return after_dirty ? 210.0 : 200.0;
  };
  const auto results = measurer_.time(kLarge, candidates_, plan(20, 0, 1));
  EXPECT_THAT(results[0].samples_us, ::testing::AllOf(SizeIs(20), Each(200.0)));
  EXPECT_THAT(results[1].samples_us, ::testing::AllOf(SizeIs(20), Each(210.0)));
  EXPECT_THAT(results[2].samples_us, ::testing::AllOf(SizeIs(20), Each(200.0)));
}

TEST_F(MeasureTest, CachedDataMayBeFasterThanMemory) {
  add({0.001});
  EXPECT_THAT(measurer_.time(kSmall, candidates_, plan(3))[0].samples_us, SizeIs(3));
}

TEST_F(MeasureTest, ThePublishedProtocolTakesOneMeanOnOnePair) {
  add({2});
  TimingPlan published = plan(9);
  published.protocol = Protocol::published;
  const std::int64_t before = device_.launches();
  const auto results = measurer_.time(kSmall, candidates_, published);
  EXPECT_THAT(results[0].samples_us, ::testing::ElementsAre(2.0));
  EXPECT_EQ(device_.launches() - before, 3 + 100 + 1000);
  EXPECT_EQ(launches_.front().x, launches_.back().x);
}

class SimulatedFake : public FakeDevice {
 public:
  SimulatedFake() : info_(FakeDevice::info()) { info_.simulated = true; }
  const DeviceInfo& info() const override { return info_; }

 private:
  DeviceInfo info_;
};

TEST_F(MeasureTest, ASimulatedDeviceGivesOneSampleOfARoundOfBuffers) {
  add({2});
  add({200});  // a race would end it
  SimulatedFake simulated;
  simulated.time_us = device_.time_us;
  const auto results = Measurer(simulated, [](const std::string&) {}).time(kSmall, candidates_, plan(7, 2, 256));
  EXPECT_THAT(results[0].samples_us, ::testing::ElementsAre(2.0));
  EXPECT_THAT(results[1].samples_us, ::testing::ElementsAre(200.0));
  EXPECT_EQ(launches_.size(), 2 * rotation_of(kSmall, simulated.info().l2_bytes, 256).pairs);
  launches_.clear();
  TimingPlan published = plan(7);
  published.protocol = Protocol::published;
  const auto warm = Measurer(simulated, [](const std::string&) {}).time(kSmall, candidates_, published);
  EXPECT_THAT(warm[0].samples_us, ::testing::ElementsAre(2.0));
  EXPECT_EQ(launches_.size(), 2U) << "the fake device asks once for a thousand";
}

TEST_F(MeasureTest, TheCopyLimitIsTheFasterOfKernelAndMemcpy) {
  add({0.8});
  add({0.6});
  EXPECT_NEAR(measurer_.copy_limit_us(kSmall, candidates_, plan(3)), 0.6, 1e-9);
  times_us_[candidates_[0].kernel] = {5};
  times_us_[candidates_[1].kernel] = {6};
  EXPECT_EQ(Measurer(device_, [](const std::string&) {}).copy_limit_us(kSmall, candidates_, plan(3)), 1.0)
      << "the fake device's memcpy takes a microsecond";
}

TEST_F(MeasureTest, BuffersGrowAndAreReleased) {
  const std::size_t before = device_.live_allocations();
  {
    Measurer measurer(device_, [](const std::string&) {});
    add({1});
    measurer.time(kSmall, candidates_, plan(1));
    measurer.time({DType::f32, 300, 5000}, candidates_, plan(1));
    measurer.time(kSmall, candidates_, plan(1));
    EXPECT_EQ(device_.live_allocations(), before + 2);
  }
  EXPECT_EQ(device_.live_allocations(), before);
}

}  // namespace
}  // namespace softmax_dispatch::tuning::testing
