// A tune of a simulated device: what is chosen is verified after it was timed.
#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <set>
#include <string>

#include "support/files.hpp"
#include "table/table.hpp"
#include "tuning/fit.hpp"
#include "tuning/journal.hpp"
#include "tuning/tuner.hpp"
#include "unit/tuning/planted.hpp"

namespace softmax_dispatch::tuning::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class SimulatedTune : public ::testing::Test {
 protected:
  SimulatedTune() { options_.simulated = true; }

  TuneResult tune() { return tuning::tune(options_, planted_registry(), planted_sources()); }

  TemporaryDirectory folder_;
  TuneOptions options_ = tiny_tune(folder_.path());
};

TEST_F(SimulatedTune, WhatIsChosenAndFailsIsDroppedAndTheTableFittedAgain) {
  const TuneResult result = tune();
  std::map<std::string, std::map<std::string, std::string>> rejected;
  for (const Rejected& one : result.rejected) rejected[one.config.variant][one.stage] = one.reason;
  EXPECT_THAT(rejected[kWrong]["verify"], HasSubstr("was not written"));
  EXPECT_THAT(rejected[kSticky]["verify"], AllOf(HasSubstr("CUDA_ERROR_MISALIGNED_ADDRESS"), HasSubstr("x5, ")));
  EXPECT_THAT(rejected[kCrash]["measure"], HasSubstr("SIGABRT"));
  EXPECT_THAT(rejected[kCrashInTiming]["measure"], HasSubstr("SIGABRT"));
  EXPECT_THAT(rejected[kBroken]["compile"], HasSubstr("error"));
  EXPECT_THAT(rejected[kLocalMemory]["resources"], HasSubstr("local memory"));
  EXPECT_EQ(rejected.size(), 6U);

  for (const table::Kernel& kernel : result.table.kernels) {
    EXPECT_THAT(kernel.config.variant, StartsWith("sound_"));
    ASSERT_TRUE(kernel.verification) << kernel.name;
    EXPECT_TRUE(kernel.verification->simulated);
  }
  EXPECT_EQ(table::lookup(result.table, {DType::f32, 4, 64}, table::Alignment::aligned).kernel->config.variant,
            kSoundShort);
  EXPECT_TRUE(result.table.device.simulated);
  EXPECT_FALSE(result.table.sweep.partial);
}

TEST_F(SimulatedTune, OnlyWhatIsChosenIsVerified) {
  const TuneResult result = tune();
  const Journal journal = read_journal(options_.journal);
  std::set<Config> used, verified;
  for (const table::Kernel& kernel : result.table.kernels) used.insert(kernel.config);
  for (const VerifyEvent& event : journal.verifications)
    if (event.outcome.passed) verified.insert(event.config);
  EXPECT_EQ(verified, used);
  for (const VerifyEvent& event : journal.verifications) EXPECT_NE(event.config.variant, kControl);
}

TEST_F(SimulatedTune, ATimeIsOneSampleAndCalledAModels) {
  const TuneResult result = tune();
  const Journal journal = read_journal(options_.journal);
  EXPECT_FALSE(journal.measurements.empty());
  for (const MeasureEvent& event : journal.measurements) {
    EXPECT_EQ(event.timing.samples, 1);
    EXPECT_FALSE(event.final);
  }
  EXPECT_EQ(result.table.sweep.protocol, "model");
  EXPECT_EQ(result.table.sweep.buffers, "cold");
  EXPECT_EQ(result.table.toolchain.driver, "none");
}

TEST_F(SimulatedTune, VerifiesAfterMeasuring) {
  std::vector<std::string> stages;
  std::map<std::string, std::int64_t> done;
  options_.progress = [&](const Progress& progress) {
    if (stages.empty() || stages.back() != progress.stage) stages.push_back(progress.stage);
    EXPECT_LE(progress.done, progress.total);
    EXPECT_TRUE(progress.stage == "verify" || progress.done >= done[progress.stage]);
    done[progress.stage] = progress.done;
  };
  tune();
  EXPECT_THAT(stages, ElementsAre("compile", "measure", "verify", "fit"));
  EXPECT_EQ(done["measure"], 11) << "every shape, those timed again after a worker was lost too";
}

TEST_F(SimulatedTune, AnInterruptedOneHasKernelsWithoutARecord) {
  std::atomic<bool> interrupted = false;
  options_.interrupted = &interrupted;
  options_.progress = [&](const Progress& progress) {
    if (progress.stage == "measure" && progress.done == 2) interrupted = true;
  };
  const TuneResult result = tune();
  EXPECT_TRUE(result.table.sweep.partial);
  EXPECT_TRUE(read_journal(options_.journal).verifications.empty());
  for (const table::Kernel& kernel : result.table.kernels) EXPECT_FALSE(kernel.verification) << kernel.name;
  const std::string text = table::write(result.table);
  const auto known = [](std::string_view id) { return planted_registry().find(id) != nullptr; };
  EXPECT_EQ(table::write(table::read(text, "partial", known)), text);
}

TEST_F(SimulatedTune, ASpentBudgetStillVerifiesWhatIsChosen) {
  options_.budget_s = 0;
  const TuneResult result = tune();
  EXPECT_TRUE(result.table.sweep.partial);
  EXPECT_EQ(result.table.sweep.measurements, 0);
  ASSERT_EQ(result.table.kernels.size(), 1U);
  EXPECT_EQ(result.table.kernels.front().config.variant, kSoundUnbounded);
  EXPECT_TRUE(result.table.kernels.front().verification);
}

TEST_F(SimulatedTune, TheTableIsAFunctionOfTheJournal) {
  const TuneResult result = tune();
  EXPECT_EQ(fit(read_journal(options_.journal), planted_registry(), nullptr), result.table);
}

}  // namespace
}  // namespace softmax_dispatch::tuning::testing
