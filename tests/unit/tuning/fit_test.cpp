#include "tuning/fit.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "support/expect_error.hpp"
#include "unit/tuning/sample_journal.hpp"

namespace softmax_dispatch::tuning::testing {
namespace {

using softmax_dispatch::testing::error_of;
using table::Alignment;
using table::kOpen;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kWarp[] = "v10 THREADS=128 VEC_ITEMS=8";  // N <= 1027
constexpr char kBlock[] = "v7 THREADS=256 VEC_ITEMS=4";  // N <= 4099
constexpr char kScalar[] = "v3 ITEMS=16 THREADS=256";    // N <= 4096, simpler than v7
constexpr char kUnboundedFew[] = "unbounded THREADS=256";
constexpr char kUnboundedMany[] = "unbounded THREADS=1024";

/// A threshold in words: "aligned <= 1027 v10_t128_vi8".
std::string text(const table::Threshold& threshold) {
  const std::string bound = threshold.N_to == kOpen ? "open" : "<= " + std::to_string(threshold.N_to);
  return fmt::format("{} {} {}", table::to_string(threshold.alignment), bound, threshold.use);
}

std::vector<std::string> texts(const table::Band& band) {
  std::vector<std::string> result;
  for (const table::Threshold& threshold : band.thresholds) result.push_back(text(threshold));
  return result;
}

std::string name(const char* config) {
  return table::kernel_name(parse_config(config));
}

/// Measurements of configurations at lengths, for each of the M.
struct Row {
  std::int64_t N;
  std::vector<std::pair<const char*, double>> times_us;
};
void measure(Journal& journal, const std::vector<std::int64_t>& Ms, const std::vector<Row>& rows) {
  for (const std::int64_t M : Ms)
    for (const Row& row : rows)
      for (const auto& [config, time_us] : row.times_us)
        journal.measurements.push_back(measured(parse_config(config), M, row.N, time_us));
}

const std::vector<Row> kRows{
    {256, {{kWarp, 2}, {kBlock, 3}, {kUnboundedFew, 4}, {kUnboundedMany, 6}}},
    {1024, {{kWarp, 4}, {kBlock, 4.4}, {kUnboundedFew, 8}, {kUnboundedMany, 9}}},
    {2048, {{kBlock, 6}, {kUnboundedFew, 9}, {kUnboundedMany, 9.6}}},
    {65536, {{kUnboundedFew, 50}, {kUnboundedMany, 40}}},
};

Journal sample() {
  return sample_journal(std::vector<std::string>{kWarp, kBlock, kUnboundedFew, kUnboundedMany});
}

TEST(Fit, BoundariesLieHalfwayInLogSpaceOrAtTheCapacity) {
  Journal journal = sample();
  measure(journal, {1024}, kRows);
  const table::Table table = fit(journal, registry(), nullptr);
  ASSERT_THAT(table.tables, SizeIs(1));
  ASSERT_THAT(table.tables[0].bands, SizeIs(1));
  const table::Band& band = table.tables[0].bands[0];
  EXPECT_EQ(band.M_from, 1);
  EXPECT_EQ(band.M_to, kOpen);
  // sqrt(1024 * 2048) = 1448 is beyond v10's 1027; sqrt(2048 * 65536) = 11585 is beyond v7's 4099, and from there to
  // 11585 the best of the others at 2048 serves.
  EXPECT_THAT(texts(band), ElementsAre("any <= 1027 " + name(kWarp), "any <= 4099 " + name(kBlock),
                                       "any <= 11585 " + name(kUnboundedFew), "any open " + name(kUnboundedMany)));
  EXPECT_EQ(band.thresholds[0].crossover_N, std::pair(std::int64_t{1024}, std::int64_t{2048}));
  EXPECT_EQ(band.thresholds[1].crossover_N, std::pair(std::int64_t{2048}, std::int64_t{65536}));
  EXPECT_EQ(band.thresholds[2].crossover_N, std::pair(std::int64_t{2048}, std::int64_t{65536}));
  EXPECT_EQ(band.thresholds[3].crossover_N, std::nullopt);
}

TEST(Fit, TheBoundaryIsTheGeometricMeanWhereCapacityAllows) {
  Journal journal = sample();
  measure(journal, {1024}, {{256, {{kWarp, 2}, {kBlock, 3}, {kUnboundedFew, 9}}}, {900, {{kWarp, 5}, {kBlock, 4}}}});
  const table::Table table = fit(journal, registry(), nullptr);
  EXPECT_THAT(texts(table.tables[0].bands[0]), ElementsAre("any <= 480 " + name(kWarp), "any <= 4099 " + name(kBlock),
                                                           "any open " + name(kUnboundedFew)));
}

TEST(Fit, RunnerUpAndMarginAreOfTheSameRange) {
  Journal journal = sample();
  measure(journal, {1024}, kRows);
  const table::Table table = fit(journal, registry(), nullptr);
  const auto& thresholds = table.tables[0].bands[0].thresholds;
  EXPECT_EQ(thresholds[0].runner_up, kBlock);
  EXPECT_NEAR(*thresholds[0].margin_pct, 28.5, 1e-9) << "sqrt(3/2 * 4.4/4) = 1.2845";
  EXPECT_EQ(thresholds[1].runner_up, kUnboundedFew);
  EXPECT_NEAR(*thresholds[1].margin_pct, 65.1, 1e-9) << "sqrt(8/4.4 * 9/6) = 1.651: it serves from 1028 on";
  EXPECT_EQ(thresholds[2].runner_up, kUnboundedMany) << "v7 is faster at 2048, but cannot serve beyond 4099";
  EXPECT_NEAR(*thresholds[2].margin_pct, 6.7, 1e-9);
  EXPECT_EQ(thresholds[3].runner_up, kUnboundedFew);
  EXPECT_NEAR(*thresholds[3].margin_pct, 25, 1e-9);
}

TEST(Fit, AlignmentClassesHaveThresholdsOfTheirOwn) {
  Journal journal = sample();
  measure(journal, {64}, kRows);
  measure(
      journal, {64},
      {{257, {{kWarp, 5}, {kBlock, 3}, {kUnboundedFew, 4}}}, {1023, {{kWarp, 9}, {kBlock, 8}, {kUnboundedFew, 6}}}});
  const table::Table table = fit(journal, registry(), nullptr);
  EXPECT_THAT(texts(table.tables[0].bands[0]),
              ElementsAre("aligned <= 1027 " + name(kWarp), "aligned <= 4099 " + name(kBlock),
                          "aligned <= 11585 " + name(kUnboundedFew), "aligned open " + name(kUnboundedMany),
                          "unaligned <= 512 " + name(kBlock), "unaligned open " + name(kUnboundedFew)));
}

/// A row that begins inside of a vector needs one more than its length: up to the capacity it would be right, and slow.
TEST(Fit, RowsThatAreNotAlignedEndBeforeTheCapacity) {
  constexpr char kRing[] = "ring AHEAD=1 BLOCKS=1 GRID=2 STAGES=2 STREAM=1 THREADS=32 VEC_ITEMS=4";
  Journal journal = sample_journal(std::vector<std::string>{kRing, kUnboundedFew});
  measure(journal, {64}, {{1024, {{kRing, 4}, {kUnboundedFew, 8}}}, {8192, {{kUnboundedFew, 20}}}});
  measure(journal, {64}, {{1023, {{kRing, 4}, {kUnboundedFew, 8}}}, {8191, {{kUnboundedFew, 20}}}});
  EXPECT_THAT(texts(fit(journal, registry(), nullptr).tables[0].bands[0]),
              ElementsAre("aligned <= 2048 " + name(kRing), "aligned open " + name(kUnboundedFew),
                          "unaligned <= 2045 " + name(kRing), "unaligned open " + name(kUnboundedFew)));
  // A measurement between the two, of an older journal, counts for nothing.
  measure(journal, {64}, {{2047, {{kRing, 1}, {kUnboundedFew, 9}}}});
  EXPECT_THAT(texts(fit(journal, registry(), nullptr).tables[0].bands[0]),
              Contains("unaligned open " + name(kUnboundedFew)));
}

TEST(Fit, BandsOfMEndHalfwayBetweenMeasuredM) {
  Journal journal = sample();
  measure(journal, {1, 16}, {{256, {{kWarp, 2}, {kBlock, 3}, {kUnboundedFew, 4}}}});
  measure(journal, {1024, 65536}, {{256, {{kWarp, 6}, {kBlock, 4}, {kUnboundedFew, 9}}}});
  const auto bands = fit(journal, registry(), nullptr).tables[0].bands;
  ASSERT_THAT(bands, SizeIs(2));
  EXPECT_EQ(bands[0].M_from, 1);
  EXPECT_EQ(bands[0].M_to, 128);
  EXPECT_EQ(bands[1].M_from, 129);
  EXPECT_EQ(bands[1].M_to, kOpen);
  EXPECT_EQ(bands[0].thresholds[0].use, name(kWarp));
  EXPECT_EQ(bands[1].thresholds[0].use, name(kBlock));
}

TEST(Fit, ALengthThatABandLacksIsTakenFromTheNearestM) {
  Journal journal = sample();
  measure(journal, {16}, kRows);
  measure(journal, {65536}, {{256, {{kWarp, 9}, {kBlock, 7}, {kUnboundedFew, 9}}}});
  const auto bands = fit(journal, registry(), nullptr).tables[0].bands;
  ASSERT_THAT(bands, SizeIs(2));
  // At 1024 the times of M = 16 stand in, where v10 leads.
  EXPECT_THAT(texts(bands[1]),
              ElementsAre("any <= 512 " + name(kBlock), "any <= 1027 " + name(kWarp), "any <= 4099 " + name(kBlock),
                          "any <= 11585 " + name(kUnboundedFew), "any open " + name(kUnboundedMany)));
}

TEST(Fit, BeyondACapacityTheNextOneServesNotWhatIsBestFarAway) {
  constexpr char kShort[] = "v7 THREADS=64 VEC_ITEMS=4", kLonger[] = "v7 THREADS=64 VEC_ITEMS=8";  // 1027 and 2051
  Journal journal = sample_journal(std::vector<std::string>{kShort, kLonger, kBlock, kUnboundedFew});
  measure(journal, {64},
          {{1024, {{kShort, 4}, {kLonger, 4.4}, {kBlock, 9}, {kUnboundedFew, 12}}},
           {4096, {{kBlock, 12}, {kUnboundedFew, 20}}}});
  EXPECT_THAT(texts(fit(journal, registry(), nullptr).tables[0].bands[0]),
              ElementsAre("any <= 1027 " + name(kShort), "any <= 2048 " + name(kLonger), "any <= 4099 " + name(kBlock),
                          "any open " + name(kUnboundedFew)));
}

/// A sweep tries two capacities at a length: one that has room for half as much again need not be among them.
TEST(Fit, BeyondACapacityWhatServesTheNextLengthCountsThoughItWasNotTriedBefore) {
  Journal journal = sample();
  measure(journal, {64}, {{1024, {{kWarp, 4}, {kUnboundedFew, 8}}}, {4096, {{kBlock, 12}, {kUnboundedFew, 20}}}});
  const table::Table table = fit(journal, registry(), nullptr);
  const auto& band = table.tables[0].bands[0];
  EXPECT_THAT(texts(band), ElementsAre("any <= 1027 " + name(kWarp), "any <= 4099 " + name(kBlock),
                                       "any open " + name(kUnboundedFew)));
  EXPECT_EQ(band.thresholds[1].runner_up, kUnboundedFew);
  EXPECT_NEAR(*band.thresholds[1].margin_pct, 66.7, 1e-9) << "20/12, where both were timed";
}

/// One of which most threads would be idle is not as good as at the length that it is for.
TEST(Fit, BeyondACapacityWhatWasTriedCountsForMoreThanWhatServesTheNextLength) {
  constexpr char kLonger[] = "v7 THREADS=128 VEC_ITEMS=4";
  Journal journal = sample_journal(std::vector<std::string>{kWarp, kLonger, kBlock, kUnboundedFew});
  measure(journal, {64},
          {{1024, {{kWarp, 4}, {kLonger, 4.02}, {kUnboundedFew, 8}}}, {4096, {{kBlock, 12}, {kUnboundedFew, 20}}}});
  EXPECT_THAT(
      texts(fit(journal, registry(), nullptr).tables[0].bands[0]),
      ElementsAre("any <= 2048 " + name(kLonger), "any <= 4099 " + name(kBlock), "any open " + name(kUnboundedFew)));
  // Where it takes 1.3 times as long, it is still better than what takes twice as long.
  journal.measurements.clear();
  measure(journal, {64}, {{1024, {{kWarp, 4}, {kLonger, 9}, {kUnboundedFew, 9}}}, {4096, {{kBlock, 12}}}});
  EXPECT_THAT(
      texts(fit(journal, registry(), nullptr).tables[0].bands[0]),
      ElementsAre("any <= 1027 " + name(kWarp), "any <= 4099 " + name(kBlock), "any open " + name(kUnboundedFew)));
}

TEST(Fit, WithinTheTieTheSimplerIsKept) {
  Journal journal = sample_journal(std::vector<std::string>{kBlock, kScalar, kUnboundedFew});
  const auto choice = [&](double scalar_us, double tie_pct) {
    journal.measurements.clear();
    measure(journal, {64}, {{2048, {{kBlock, 10}, {kScalar, scalar_us}, {kUnboundedFew, 20}}}});
    return fit(journal, registry(), nullptr, tie_pct).tables[0].bands[0].thresholds[0];
  };
  EXPECT_EQ(choice(10.19, 2).use, name(kScalar));
  EXPECT_NEAR(*choice(10.19, 2).margin_pct, -1.9, 1e-9) << "the runner-up is a little faster, and not as simple";
  EXPECT_EQ(choice(10.21, 2).use, name(kBlock));
  EXPECT_EQ(choice(10.19, 1).use, name(kBlock));
  EXPECT_EQ(choice(9.9, 2).use, name(kScalar));
}

TEST(Fit, OneKernelServesNeighbouringLengthsWhereItTies) {
  Journal journal = sample_journal(std::vector<std::string>{kBlock, kScalar, kUnboundedFew});
  measure(journal, {64},
          {{256, {{kBlock, 1.005}, {kScalar, 1}, {kUnboundedFew, 9}}},
           {512, {{kBlock, 1}, {kScalar, 1.5}, {kUnboundedFew, 9}}},
           {1024, {{kBlock, 1.005}, {kScalar, 1}, {kUnboundedFew, 9}}}});
  EXPECT_THAT(texts(fit(journal, registry(), nullptr).tables[0].bands[0]),
              ElementsAre("any <= 4099 " + name(kBlock), "any open " + name(kUnboundedFew)));
}

TEST(Fit, BandsAreJoinedWhereOneKernelTiesInAll) {
  Journal journal = sample_journal(std::vector<std::string>{kBlock, kScalar, kUnboundedFew});
  measure(journal, {1}, {{1024, {{kBlock, 1.01}, {kScalar, 1}, {kUnboundedFew, 9}}}});
  measure(journal, {64}, {{1024, {{kBlock, 1}, {kScalar, 1.2}, {kUnboundedFew, 9}}}});
  measure(journal, {4096}, {{1024, {{kBlock, 1}, {kScalar, 1.3}, {kUnboundedFew, 9}}}});
  EXPECT_THAT(fit(journal, registry(), nullptr, 3).tables[0].bands, SizeIs(1));
}

TEST(Fit, ACandidateThatFailsNextDoorIsNotTheBestOfABand) {
  Journal journal = sample_journal(std::vector<std::string>{kBlock, kScalar, kUnboundedFew});
  measure(journal, {8, 512}, {{1024, {{kBlock, 1}, {kScalar, 2}, {kUnboundedFew, 9}}}});
  measure(journal, {64}, {{1024, {{kBlock, 1.03}, {kScalar, 1}, {kUnboundedFew, 9}}}});
  // Averaged over the band of M = 64, v3 costs 1/8 of a factor of two on both sides, 19 %, and v7 2.2 %.
  const auto bands = fit(journal, registry(), nullptr, 0.5).tables[0].bands;
  ASSERT_THAT(bands, SizeIs(1));
  EXPECT_EQ(bands[0].thresholds[0].use, name(kBlock));
}

TEST(Fit, RegretIsTheTimeOfTheChoiceOverTheBest) {
  Journal journal = sample_journal(std::vector<std::string>{kBlock, kScalar, kUnboundedFew});
  measure(journal, {64},
          {{256, {{kBlock, 1.005}, {kScalar, 1}, {kUnboundedFew, 9}}},
           {512, {{kBlock, 1}, {kScalar, 1.5}, {kUnboundedFew, 9}}}});
  const table::Table table = fit(journal, registry(), nullptr);
  EXPECT_NEAR(*table.regret_geomean, 1.0025, 1e-4);
  EXPECT_NEAR(*table.regret_worst, 1.005, 1e-9);
}

TEST(Fit, KernelsCarryTheirRecords) {
  Journal journal = sample();
  journal.compiles.push_back(compiled(parse_config(kScalar)));
  journal.verifications.push_back(verified(parse_config(kScalar)));
  measure(journal, {1024}, kRows);
  const table::Table table = fit(journal, registry(), nullptr);
  ASSERT_THAT(table.kernels, SizeIs(4)) << "those of the thresholds and no others";
  const table::Kernel* kernel = table.find(name(kBlock));
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(to_string(kernel->config), kBlock);
  EXPECT_EQ(kernel->code_hash, compiled(kernel->config).code_hash);
  EXPECT_EQ(kernel->resources.registers, 32);
  ASSERT_TRUE(kernel->verification);
  EXPECT_EQ(kernel->verification->device, "imagined GPU");
  EXPECT_EQ(kernel->verification->suite, verify::kSuite);
  EXPECT_EQ(kernel->verification->N_to, 4099);
  EXPECT_EQ(table.device.name, "imagined GPU");
  EXPECT_EQ(table.toolchain.nvrtc, "13.0.88");
  EXPECT_EQ(table.library_version, "0.1.0");
  EXPECT_EQ(table.sweep.measurements, 13);
  EXPECT_EQ(table.sweep.duration_s, 12.5);
  EXPECT_FALSE(table.sweep.partial);
}

TEST(Fit, ARunWithoutItsEndIsPartial) {
  Journal journal = sample();
  journal.end.reset();
  EXPECT_TRUE(fit(journal, registry(), nullptr).sweep.partial);
  journal.end = EndEvent{1, true};
  EXPECT_TRUE(fit(journal, registry(), nullptr).sweep.partial);
}

TEST(Fit, WithoutMeasurementsTheUnboundedKernelServesAll) {
  const table::Table table = fit(sample(), registry(), nullptr);
  ASSERT_THAT(table.tables[0].bands, SizeIs(1));
  EXPECT_THAT(texts(table.tables[0].bands[0]), ElementsAre("any open " + name(kUnboundedFew)));
  EXPECT_EQ(table.regret_geomean, std::nullopt);
}

/// The fastest configuration everywhere, ineligible for one reason.
class Ineligible : public ::testing::Test {
 protected:
  Ineligible() : journal_(sample()) {
    measure(journal_, {1024}, kRows);
    for (const std::int64_t N : {256, 1024}) journal_.measurements.push_back(measured(config_, 1024, N, 0.5));
  }
  std::vector<std::string> kernels() const {
    std::vector<std::string> names;
    for (const table::Kernel& kernel : fit(journal_, registry(), nullptr).kernels) names.push_back(kernel.name);
    return names;
  }

  Config config_ = parse_config("v7 THREADS=128 VEC_ITEMS=4");
  Journal journal_;
};

TEST_F(Ineligible, NothingIsTheControl) {
  journal_.compiles.push_back(compiled(config_));
  journal_.verifications.push_back(verified(config_));
  EXPECT_THAT(kernels(), ::testing::Contains(table::kernel_name(config_)));
}

TEST_F(Ineligible, EachReasonKeepsItOut) {
  const auto expect_out = [&](const char* why, CompileEvent compile, VerifyEvent verification) {
    const std::size_t compiles = journal_.compiles.size(), verifications = journal_.verifications.size();
    journal_.compiles.push_back(std::move(compile));
    journal_.verifications.push_back(std::move(verification));
    EXPECT_THAT(kernels(), ::testing::Not(::testing::Contains(table::kernel_name(config_)))) << why;
    journal_.compiles.resize(compiles);
    journal_.verifications.resize(verifications);
  };
  CompileEvent compile = compiled(config_);
  compile.error = "does not compile";
  expect_out("compile error", compile, verified(config_));
  for (int jit::Resources::*member :
       {&jit::Resources::stack_bytes, &jit::Resources::spill_store_bytes, &jit::Resources::spill_load_bytes}) {
    compile = compiled(config_);
    compile.resources.*member = 8;
    expect_out("local memory", compile, verified(config_));
  }
  VerifyEvent wrong = verified(config_);
  wrong.outcome.passed = false;
  expect_out("wrong results", compiled(config_), wrong);
  VerifyEvent other = verified(config_);
  other.code_hash = compiled(parse_config(kBlock)).code_hash;
  expect_out("other code was verified", compiled(config_), other);
  expect_out("nothing was verified", compiled(config_), verified(parse_config(kBlock)));
  journal_.quarantines.push_back({config_, "measure", "killed its worker"});
  expect_out("quarantined", compiled(config_), verified(config_));
  journal_.quarantines.clear();
  config_ = parse_config("v4_branchy THREADS=128");
  journal_.measurements.push_back(measured(config_, 1024, 256, 0.5));
  expect_out("a control", compiled(config_), verified(config_));
}

TEST(Fit, WithoutAnUnboundedKernelThereIsNoTable) {
  Journal journal = sample_journal(std::vector<std::string>{kWarp, kBlock});
  measure(journal, {64}, {{256, {{kWarp, 2}, {kBlock, 3}}}});
  EXPECT_THAT(error_of(StatusCode::verification_failed, [&] { fit(journal, registry(), nullptr); }),
              HasSubstr("without a limit"));
}

class Pins : public ::testing::Test {
 protected:
  Pins() : journal_(sample()) {
    measure(journal_, {1024}, kRows);
    table::Kernel kernel;
    kernel.config = pinned_;
    kernel.name = "mine";
    kernel.code_hash = "of an older compiler";
    kernel.verification = table::VerificationRecord{"imagined GPU", false, 1, 10, 1023, 0.5};
    previous_.kernels = {kernel};
    previous_.pins = {{DType::f32, 1, kOpen, 300, 400, "mine"}};
  }
  table::Table refit() const { return fit(journal_, registry(), &previous_); }

  Config pinned_ = parse_config("v5 THREADS=64");
  Journal journal_;
  table::Table previous_;
};

TEST_F(Pins, SurviveWithTheirKernel) {
  const table::Table table = refit();
  ASSERT_THAT(table.pins, SizeIs(1));
  EXPECT_EQ(table.pins[0].N_to, 400);
  const table::Choice choice = table::lookup(table, {DType::f32, 7, 333}, Alignment::unaligned);
  ASSERT_NE(choice.kernel, nullptr);
  EXPECT_EQ(choice.kernel->config, pinned_);
  EXPECT_NE(choice.pin, nullptr);
  EXPECT_EQ(choice.kernel->code_hash, "of an older compiler");
  EXPECT_TRUE(choice.kernel->verification) << "nothing new is known of it";
}

TEST_F(Pins, TakeTheNewRecordOfTheirConfiguration) {
  journal_.compiles.push_back(compiled(pinned_));
  journal_.verifications.push_back(verified(pinned_));
  const table::Table table = refit();
  const table::Choice choice = table::lookup(table, {DType::f32, 7, 333}, Alignment::unaligned);
  EXPECT_EQ(choice.kernel->config, pinned_);
  EXPECT_EQ(choice.kernel->code_hash, compiled(pinned_).code_hash);
  EXPECT_EQ(table.pins[0].use, choice.kernel->name);
}

TEST_F(Pins, LoseARecordThatTheTuneContradicts) {
  journal_.compiles.push_back(compiled(pinned_));
  VerifyEvent wrong = verified(pinned_);
  wrong.outcome.passed = false;
  journal_.verifications.push_back(wrong);
  const table::Table table = refit();
  const table::Choice choice = table::lookup(table, {DType::f32, 7, 333}, Alignment::unaligned);
  EXPECT_EQ(choice.kernel->config, pinned_);
  EXPECT_FALSE(choice.kernel->verification) << "it will be verified before it is used";
}

TEST(Fit, TypesAreFittedByThemselvesIntoOneTable) {
  constexpr char kHalves[] = "unbounded f16 THREADS=512", kHalvesFew[] = "unbounded f16 THREADS=256";
  Journal journal = sample_journal(std::vector<std::string>{kWarp, kUnboundedFew, kUnboundedMany, kHalves, kHalvesFew});
  measure(journal, {1024}, {{256, {{kWarp, 2}, {kUnboundedFew, 4}, {kHalves, 3}, {kHalvesFew, 6}}}});
  const table::Table table = fit(journal, registry(), nullptr);
  ASSERT_THAT(table.tables, SizeIs(2));
  EXPECT_EQ(table.tables[0].dtype, DType::f32);
  EXPECT_THAT(texts(table.tables[0].bands[0]), ::testing::Contains(::testing::HasSubstr(name(kWarp))));
  EXPECT_EQ(table.tables[1].dtype, DType::f16);
  EXPECT_THAT(texts(table.tables[1].bands[0]), ElementsAre("any open unbounded_f16_t512"));
  ASSERT_TRUE(table.find("unbounded_f16_t512"));
  EXPECT_EQ(table.find("unbounded_f16_t512")->config, parse_config(kHalves));
  for (const table::OpTable& op : table.tables) EXPECT_EQ(op.regret_geomean, 1.0);
  // f32 as it is without the other type.
  std::erase_if(journal.compiles, [](const auto& event) { return event.config.dtype != DType::f32; });
  const table::Table alone = fit(journal, registry(), nullptr);
  EXPECT_EQ(alone.tables[0].bands, table.tables[0].bands);
  EXPECT_EQ(alone.tables[0].regret_geomean, std::nullopt) << "that of the table says it";
}

TEST(Fit, OnASimulatedDeviceWhatIsNotVerifiedYetMayBeChosen) {
  Journal journal = sample_journal({kWarp, kBlock, kUnboundedFew, kUnboundedMany});
  measure(journal, {1024}, kRows);
  const table::Table all = fit(journal, registry(), nullptr);
  std::erase_if(journal.verifications, [](const auto& event) { return event.config == parse_config(kWarp); });
  EXPECT_EQ(fit(journal, registry(), nullptr).find(name(kWarp)), nullptr);

  journal.run->device.simulated = true;
  const table::Table table = fit(journal, registry(), nullptr);
  EXPECT_EQ(texts(table.tables[0].bands[0]), texts(all.tables[0].bands[0]));
  EXPECT_FALSE(table.find(name(kWarp))->verification);
  EXPECT_TRUE(table.find(name(kBlock))->verification);

  VerifyEvent failed = verified(parse_config(kWarp));
  failed.outcome.passed = false;
  journal.verifications.push_back(failed);
  EXPECT_EQ(fit(journal, registry(), nullptr).find(name(kWarp)), nullptr);
}

}  // namespace
}  // namespace softmax_dispatch::tuning::testing
