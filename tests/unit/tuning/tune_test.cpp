#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "support/expect_error.hpp"
#include "support/files.hpp"
#include "table/table.hpp"
#include "tuning/journal.hpp"
#include "tuning/tuner.hpp"
#include "unit/tuning/planted.hpp"

namespace softmax_dispatch::tuning::testing {
namespace {

using softmax_dispatch::testing::error_of;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A whole tune, from worker processes to the table, on a device in host memory (planted.hpp).
class TuneTest : public ::testing::Test {
 protected:
  TuneTest() {
    options_.device = 0;
    options_.progress = [this](const Progress& progress) { progress_.push_back(progress); };
  }

  TuneResult tune() { return tuning::tune(options_, planted_registry(), planted_sources()); }

  TemporaryDirectory folder_;
  TuneOptions options_ = tiny_tune(folder_.path());
  std::vector<Progress> progress_;
};

TEST_F(TuneTest, PlantedFaultsCostThemselvesAlone) {
  const TuneResult result = tune();

  std::map<std::string, std::map<std::string, std::string>> rejected;
  for (const Rejected& one : result.rejected) rejected[one.config.variant][one.stage] = one.reason;
  EXPECT_THAT(rejected[kWrong]["verify"], HasSubstr("was not written"));
  EXPECT_THAT(rejected[kCrash]["verify"], HasSubstr("SIGABRT"));
  EXPECT_THAT(rejected[kSticky]["verify"], HasSubstr("CUDA_ERROR_MISALIGNED_ADDRESS"));
  EXPECT_THAT(rejected[kCrashInTiming]["measure"], HasSubstr("SIGABRT"));
  EXPECT_THAT(rejected[kBroken]["compile"], HasSubstr("error"));
  EXPECT_THAT(rejected[kLocalMemory]["resources"], HasSubstr("local memory"));
  EXPECT_EQ(rejected.size(), 6U) << "the sound ones and the control are not among them";

  for (const table::Kernel& kernel : result.table.kernels) {
    EXPECT_THAT(kernel.config.variant, ::testing::StartsWith("sound_"));
    ASSERT_TRUE(kernel.verification);
    EXPECT_EQ(kernel.verification->device, "fake GPU");
    EXPECT_GT(kernel.verification->cases, 50);
  }
  EXPECT_FALSE(result.table.sweep.partial);
  // Twelve shapes less the two above the most elements; the faster one wins wherever it can.
  const auto choice = [&](std::int64_t M, std::int64_t N) {
    return table::lookup(result.table, {DType::f32, M, N}, table::Alignment::aligned).kernel->config.variant;
  };
  EXPECT_EQ(choice(4, 64), kSoundShort);
  EXPECT_EQ(choice(16, 128), kSoundShort);
  EXPECT_EQ(choice(16, 132), kSoundUnbounded);
}

TEST_F(TuneTest, TheJournalHoldsEverythingThatTheTableSays) {
  const TuneResult result = tune();
  const Journal journal = read_journal(options_.journal);
  EXPECT_EQ(journal.damaged_lines, 0U);
  ASSERT_TRUE(journal.run);
  EXPECT_EQ(journal.run->device.name, "fake GPU");
  EXPECT_EQ(journal.run->sweep.effort, "tiny");
  EXPECT_EQ(journal.run->sweep.buffers, "cold");
  EXPECT_EQ(journal.run->sweep.configs, 15) << "seven bounded variants with two capacities and one unbounded";
  EXPECT_EQ(journal.compiles.size(), 15U);
  EXPECT_GE(journal.quarantines.size(), 5U);
  ASSERT_TRUE(journal.end);
  EXPECT_FALSE(journal.end->partial);
  for (const MeasureEvent& event : journal.measurements) {
    EXPECT_THAT(event.config.variant, ::testing::StartsWith("sound_"));
    EXPECT_EQ(event.timing.samples, event.final ? 5 : 2);
  }
  const auto finals = [](const MeasureEvent& event) { return event.final; };
  EXPECT_TRUE(std::any_of(journal.measurements.begin(), journal.measurements.end(), finals));
  EXPECT_EQ(result.table.sweep.measurements, static_cast<std::int64_t>(journal.measurements.size()));
}

TEST_F(TuneTest, TellsHowFarItIs) {
  tune();
  std::map<std::string, Progress> last;
  std::vector<std::string> stages;
  for (const Progress& progress : progress_) {
    if (stages.empty() || stages.back() != progress.stage) stages.push_back(progress.stage);
    EXPECT_GE(progress.done, last[progress.stage].done);
    EXPECT_LE(progress.done, progress.total);
    last[progress.stage] = progress;
  }
  EXPECT_THAT(stages, ::testing::ElementsAre("compile", "verify", "measure", "fit"));
  for (const auto& [stage, progress] : last) EXPECT_EQ(progress.done, progress.total) << stage;
  EXPECT_THAT(last["measure"].detail, HasSubstr(" us"));
  EXPECT_EQ(last["measure"].seconds_left, 0.0);
}

TEST_F(TuneTest, AnInterruptLeavesAValidTableMarkedPartial) {
  std::atomic<bool> interrupted = false;
  options_.interrupted = &interrupted;
  options_.progress = [&](const Progress& progress) {
    if (progress.stage == "measure" && progress.done == 2) interrupted = true;
  };
  const TuneResult result = tune();
  EXPECT_TRUE(result.table.sweep.partial);
  EXPECT_TRUE(read_journal(options_.journal).end->partial);
  const std::string text = table::write(result.table);
  const auto known = [](std::string_view id) { return planted_registry().find(id) != nullptr; };
  EXPECT_EQ(table::write(table::read(text, "partial", known)), text);
}

TEST_F(TuneTest, AnInterruptBeforeAnythingIsVerifiedLeavesNoTable) {
  const std::atomic<bool> interrupted = true;
  options_.interrupted = &interrupted;
  EXPECT_THAT(error_of(StatusCode::verification_failed, [&] { tune(); }), HasSubstr("interrupted"));
}

TEST_F(TuneTest, ASpentBudgetStopsTheMeasuring) {
  options_.budget_s = 0;
  const TuneResult result = tune();
  EXPECT_TRUE(result.table.sweep.partial);
  EXPECT_EQ(result.table.sweep.measurements, 0);
  EXPECT_EQ(table::lookup(result.table, {DType::f32, 5, 5}, table::Alignment::unaligned).kernel->config.variant,
            kSoundUnbounded);
}

TEST_F(TuneTest, ThePublishedProtocolIsWarm) {
  options_.protocol = Protocol::published;
  options_.sweep.M = {2};
  options_.sweep.N = {8};
  const TuneResult result = tune();
  EXPECT_EQ(result.table.sweep.protocol, "published");
  EXPECT_EQ(result.table.sweep.buffers, "warm");
  for (const MeasureEvent& event : read_journal(options_.journal).measurements) EXPECT_EQ(event.timing.samples, 1);
}

TEST_F(TuneTest, PinnedConfigurationsAreVerifiedAnew) {
  table::Table previous;
  table::Kernel kernel;
  kernel.name = "sound_short_i4_t96";
  kernel.config = {kSoundShort, {{"ITEMS", 4}, {"THREADS", 96}}};
  previous.kernels = {kernel};
  previous.pins = {{DType::f32, 1, table::kOpen, 1, 100, kernel.name}};
  options_.previous = previous;
  const TuneResult result = tune();
  const table::Choice choice = table::lookup(result.table, {DType::f32, 3, 50}, table::Alignment::aligned);
  EXPECT_NE(choice.pin, nullptr);
  EXPECT_EQ(choice.kernel->config, kernel.config);
  EXPECT_TRUE(choice.kernel->verification);
}

TEST_F(TuneTest, TwoTypesShareATable) {
  options_.dtypes = {DType::f32, DType::f16};
  const TuneResult result = tune();
  ASSERT_EQ(result.table.tables.size(), 2U);
  std::map<DType, std::set<std::string>> names;
  for (const table::Kernel& kernel : result.table.kernels) {
    ASSERT_TRUE(kernel.verification) << kernel.name;
    names[kernel.config.dtype].insert(kernel.name);
  }
  EXPECT_THAT(names[DType::f32], Contains("sound_unbounded_t64"));
  EXPECT_THAT(names[DType::f16], Contains("sound_unbounded_f16_t64"));
  for (const table::OpTable& op : result.table.tables) {
    EXPECT_GE(op.regret_geomean, 1.0) << to_string(op.dtype);
    const table::Kernel* chosen = table::lookup(result.table, {op.dtype, 4, 64}, table::Alignment::aligned).kernel;
    EXPECT_EQ(chosen->config.variant, kSoundShort);
    EXPECT_EQ(chosen->config.dtype, op.dtype);
  }
  std::set<DType> measured;
  for (const MeasureEvent& event : read_journal(options_.journal).measurements) {
    EXPECT_EQ(event.config.dtype, event.problem.dtype);
    measured.insert(event.problem.dtype);
  }
  EXPECT_EQ(measured.size(), 2U);
  const std::string text = table::write(result.table);
  const auto known = [](std::string_view id) { return planted_registry().find(id) != nullptr; };
  EXPECT_EQ(table::read(text, "two", known), result.table);
}

TEST_F(TuneTest, StopsForWhatIsNoCandidatesFault) {
  options_.arch = "sm_75";
  EXPECT_THAT(error_of(StatusCode::no_device, [&] { tune(); }), AllOf(HasSubstr("sm_90"), HasSubstr("sm_75")));
  options_.arch = "sm_90";
  options_.dtypes = {DType::bf16};
  EXPECT_THAT(error_of(StatusCode::unsupported, [&] { tune(); }), HasSubstr("bf16"));
  options_.dtypes = {DType::f32};
  const Sweep sweep = std::exchange(options_.sweep, restrict(options_.sweep, Range{5000, 5000}, Range{64, 64}));
  EXPECT_THAT(error_of(StatusCode::invalid_argument, [&] { tune(); }), HasSubstr("at most 1024 elements"));
  options_.sweep = sweep;
  options_.journal = folder_.path() / "no" / "folder" / "t.jsonl";
  EXPECT_THAT(error_of(StatusCode::io, [&] { tune(); }), HasSubstr("t.jsonl"));
}

TEST_F(TuneTest, AWorkerOfAnotherBuildIsRefused) {
  jit::Sources changed = planted_sources();
  changed.add(kSoundShort, changed.text(kSoundShort) + "// changed\n");
  EXPECT_THAT(error_of(StatusCode::internal, [&] { tuning::tune(options_, planted_registry(), changed); }),
              AllOf(HasSubstr(kSoundShort), HasSubstr("one build")));
}

}  // namespace
}  // namespace softmax_dispatch::tuning::testing
