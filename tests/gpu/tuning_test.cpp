// The tuner with the product's own worker on a real GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "device/cuda/cuda.hpp"
#include "support/files.hpp"
#include "table/table.hpp"
#include "tuning/journal.hpp"
#include "tuning/stages.hpp"
#include "tuning/tuner.hpp"

namespace softmax_dispatch::tuning {
namespace {

using ::testing::IsEmpty;

const WorkerCommand kWorker{SOFTMAX_DISPATCH_BINARY_DIR "/softmax-tune", {"worker"}};

bool known_variant(std::string_view id) {
  return registry().find(id) != nullptr;
}

Config config(const char* text) {
  return parse_config(text);
}

class GpuTuning : public ::testing::Test {
 protected:
  WorkerSettings settings() const { return {info_.arch, 0, folder_.path() / "cache", ""}; }
  double floor_us(const Problem& problem) const {
    const double peak = info_.dram_peak_gb_per_s();
    return peak == 0 ? 0 : static_cast<double>(8 * problem.M * problem.N) / (peak * 1e3);
  }

  TemporaryDirectory folder_;
  DeviceInfo info_ = cuda::device_info(0);
};

TEST_F(GpuTuning, ATinySweepGivesATableOfVerifiedKernels) {
  TuneOptions options;
  options.arch = info_.arch;
  options.sweep = parse_sweep(R"(
M: [1, 256, 16384]
N: [61, 64, 257, 1024, 65536]
max_elements: 16777216
axes: {THREADS: [128, 512], ITEMS: [1, 4], VEC_ITEMS: [1, 4], GRID: [2], LANES: [1, 8, 32], ROWS: [1], STREAM: [1],
  TILE_ROWS: [16], PARTS: [4, 16], SHARED_ITEMS: [0], STAGES: [6], AHEAD: [3]}
max_launches: 16
race_factor: 2
screen_replays: 2
finalist_factor: 1.1
final_replays: 5
)",
                              "tiny");
  options.journal = folder_.path() / "t.jsonl";
  options.cache = folder_.path() / "cache";
  options.worker = kWorker;
  const TuneResult result = tune(options, registry(), jit::Sources::product());
  EXPECT_THAT(result.rejected, IsEmpty());
  EXPECT_FALSE(result.table.sweep.partial);
  EXPECT_EQ(result.table.device.name, info_.name);
  EXPECT_LT(result.table.regret_geomean.value_or(9), 1.05);

  const std::string text = table::write(result.table);
  EXPECT_EQ(table::write(table::read(text, "tiny", known_variant)), text);
  for (const table::Kernel& kernel : result.table.kernels) {
    ASSERT_TRUE(kernel.verification) << kernel.name;
    EXPECT_LE(kernel.verification->worst_error, 1);
  }
  std::set<std::string> measured;
  for (const MeasureEvent& event : read_journal(options.journal).measurements) {
    EXPECT_GT(event.timing.median_us, 0.3) << to_string(event.config);
    EXPECT_LE(event.timing.low_us, event.timing.median_us);
    EXPECT_LE(event.timing.median_us, event.timing.high_us);
    measured.insert(to_string(event.problem));
  }
  EXPECT_EQ(measured.size(), 14U) << "every shape but 16384 x 65536";
}

TEST_F(GpuTuning, TheBestKernelIsNearTheCopyLimitAndTheLimitNearTheMemory) {
  const Problem problem{DType::f32, 16384, 1024};
  BenchOptions options;
  options.worker = kWorker;
  options.settings = settings();
  options.plan.replays = 15;
  options.all_variants = true;
  const std::vector<Config> candidates{config("v7 THREADS=256 VEC_ITEMS=1"), config("v2 THREADS=1024"),
                                       config("v7 THREADS=32 VEC_ITEMS=1")};
  const auto rows = bench(
      {problem}, candidates, [](const Problem&) { return config("v10 THREADS=128 VEC_ITEMS=8"); }, options, registry());
  ASSERT_EQ(rows.size(), 1U);
  if (floor_us(problem) > 0) {  // a driver need not tell the memory's clock
    EXPECT_GE(rows[0].limit_us, floor_us(problem));
    EXPECT_LE(rows[0].limit_us, 2 * floor_us(problem)) << "a copy that takes twice what the memory allows";
  }
  EXPECT_GE(rows[0].time_us, 0.85 * rows[0].limit_us);
  EXPECT_LE(rows[0].time_us, 3 * rows[0].limit_us);
  ASSERT_EQ(rows[0].variants.size(), 4U);
  for (const BenchVariant& variant : rows[0].variants)
    EXPECT_EQ(variant.skipped.has_value(), variant.config == candidates[2]) << to_string(variant.config);
}

TEST_F(GpuTuning, TimesRepeat) {
  Worker worker(kWorker, settings());
  const std::vector<Config> candidates{config("v7 THREADS=256 VEC_ITEMS=4"), config("v5 THREADS=256")};
  for (const Problem& problem : {Problem{DType::f32, 1024, 4096}, Problem{DType::f32, 8192, 4096}}) {
    TimingPlan plan;
    plan.replays = 15;
    std::vector<double> medians;
    for (const std::uint64_t seed : {1U, 2U}) {
      plan.seed = seed;
      for (const TimeResult& result : worker.time(problem, candidates, plan, kTimeSeconds)) {
        ASSERT_EQ(result.error, std::nullopt);
        medians.push_back(summarize(result.samples_us).median_us);
      }
    }
    EXPECT_NEAR(medians[2] / medians[0], 1, 0.05) << to_string(problem);
    EXPECT_NEAR(medians[3] / medians[1], 1, 0.05) << to_string(problem);
    EXPECT_LT(medians[0], medians[1]) << "one scan against two at " << to_string(problem);
  }
}

TEST_F(GpuTuning, ThePublishedProtocolAgreesOnALongKernel) {
  Worker worker(kWorker, settings());
  const Problem problem{DType::f32, 8192, 4096};
  const std::vector<Config> candidates{config("v7 THREADS=256 VEC_ITEMS=4")};
  TimingPlan plan;
  const double graph_us = summarize(worker.time(problem, candidates, plan, kTimeSeconds)[0].samples_us).median_us;
  plan.protocol = Protocol::published;
  const auto published = worker.time(problem, candidates, plan, kTimeSeconds);
  ASSERT_EQ(published[0].samples_us.size(), 1U);
  EXPECT_NEAR(published[0].samples_us[0] / graph_us, 1, 0.15);
}

}  // namespace
}  // namespace softmax_dispatch::tuning
