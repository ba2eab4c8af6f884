#include <gmock/gmock.h>

#include <string>

#include "support/expect_error.hpp"
#include "support/files.hpp"
#include "tuning/tuner.hpp"
#include "unit/tuning/planted.hpp"

namespace softmax_dispatch::tuning::testing {
namespace {

using softmax_dispatch::testing::error_of;
using ::testing::HasSubstr;

const Config kUnbounded64{kSoundUnbounded, {{"THREADS", 64}}};
const Config kShort{kSoundShort, {{"ITEMS", 1}, {"THREADS", 64}}};

class BenchTest : public ::testing::Test {
 protected:
  BenchTest() {
    options_.worker = worker_command("planted");
    options_.settings = {"sm_90", 0, folder_.path() / "cache", ""};
    options_.plan.replays = 3;
  }

  TemporaryDirectory folder_;
  BenchOptions options_;
};

TEST_F(BenchTest, TimesTheChoiceAgainstTheCopyLimit) {
  const Problem problem{DType::f32, 4, 64};
  const auto rows = bench(
      {problem}, {}, [](const Problem&) { return kUnbounded64; }, options_, planted_registry());
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].problem, problem);
  EXPECT_EQ(rows[0].chosen, kUnbounded64);
  EXPECT_NEAR(rows[0].time_us, 3 + 256.0 / 500 + 64 / 512.0, 1e-9);
  EXPECT_NEAR(rows[0].limit_us, 1, 1e-9) << "the fake device's memcpy";
  EXPECT_NEAR(rows[0].gb_per_s, 2 * 256 * 4 / rows[0].time_us / 1e3, 1e-9);
  EXPECT_TRUE(rows[0].variants.empty());
}

TEST_F(BenchTest, TimesTheKernelThatReducesOnceWithTheLaunchOfTheChoice) {
  options_.reduce_once = true;
  const Problem halves{DType::f16, 4, 60};
  const auto rows = bench(
      {{DType::f32, 4, 64}, {DType::f32, 4, 65}, halves}, {},
      [](const Problem& problem) {
        if (problem.N > 64) return kUnbounded64;
        return Config{kSoundShort, kShort.constants, problem.dtype};
      },
      options_, planted_registry());
  ASSERT_EQ(rows.size(), 3U);
  for (const std::size_t i : {0U, 2U}) {
    EXPECT_NEAR(rows[i].reduce_once_us.value_or(0), 1.5 + 64 / 512.0, 1e-9) << to_string(rows[i].problem);
    EXPECT_EQ(rows[i].no_reduce_once, std::nullopt);
    EXPECT_GT(rows[i].time_us, rows[i].reduce_once_us);
  }
  EXPECT_EQ(rows[1].reduce_once_us, std::nullopt);
  EXPECT_THAT(rows[1].no_reduce_once.value_or(""), HasSubstr(kSoundUnbounded));
}

TEST_F(BenchTest, NothingIsReducedOnceUnasked) {
  const auto rows = bench(
      {{DType::f32, 4, 64}}, {}, [](const Problem&) { return kShort; }, options_, planted_registry());
  EXPECT_EQ(rows[0].reduce_once_us, std::nullopt);
  EXPECT_EQ(rows[0].no_reduce_once, std::nullopt);
}

TEST_F(BenchTest, EveryVariantHasATimeOrAReason) {
  options_.all_variants = true;
  const std::vector<Config> candidates{kShort,
                                       {kControl, {{"ITEMS", 1}, {"THREADS", 64}}},
                                       {kWrong, {{"ITEMS", 1}, {"THREADS", 64}}},
                                       {kCrashInTiming, {{"ITEMS", 1}, {"THREADS", 64}}},
                                       {kBroken, {{"ITEMS", 1}, {"THREADS", 64}}}};
  const auto rows = bench(
      {{DType::f32, 4, 64}, {DType::f32, 4, 65}}, candidates, [](const Problem&) { return kUnbounded64; }, options_,
      planted_registry());
  const auto of = [&](std::size_t row, const std::string& variant) -> const BenchVariant& {
    for (const BenchVariant& one : rows[row].variants)
      if (one.config.variant == variant) return one;
    throw std::out_of_range(variant);
  };
  for (const BenchRow& row : rows) EXPECT_EQ(row.variants.size(), candidates.size() + 1);
  EXPECT_NEAR(of(0, kSoundShort).time_us, 2 + 256.0 / 1000 + 64 / 512.0, 1e-9);
  EXPECT_EQ(of(0, kSoundShort).skipped, std::nullopt);
  EXPECT_EQ(of(0, kControl).skipped, std::nullopt);
  EXPECT_EQ(of(0, kSoundUnbounded).time_us, rows[0].time_us);
  EXPECT_THAT(of(0, kWrong).skipped.value_or(""), HasSubstr("failed verification"));
  EXPECT_THAT(of(0, kCrashInTiming).skipped.value_or(""), HasSubstr("SIGABRT"));
  EXPECT_THAT(of(0, kBroken).skipped.value_or(""), HasSubstr("error"));
  EXPECT_THAT(of(1, kSoundShort).skipped.value_or(""), HasSubstr("capacity"));
}

TEST_F(BenchTest, EachTypeIsTimedAgainstItsOwnCandidates) {
  options_.all_variants = true;
  const auto of = [](DType dtype) { return Config{kSoundUnbounded, {{"THREADS", 64}}, dtype}; };
  const auto short_of = [](DType dtype) { return Config{kSoundShort, {{"ITEMS", 1}, {"THREADS", 64}}, dtype}; };
  const auto rows = bench(
      {{DType::f32, 4, 64}, {DType::f16, 4, 64}}, {short_of(DType::f32), short_of(DType::f16)},
      [&](const Problem& problem) { return of(problem.dtype); }, options_, planted_registry());
  ASSERT_EQ(rows.size(), 2U);
  for (const BenchRow& row : rows) {
    EXPECT_EQ(row.chosen, of(row.problem.dtype));
    ASSERT_EQ(row.variants.size(), 2U);
    for (const BenchVariant& one : row.variants) {
      EXPECT_EQ(one.config.dtype, row.problem.dtype);
      EXPECT_EQ(one.skipped, std::nullopt);
    }
    EXPECT_NEAR(row.gb_per_s, 2 * 256 * static_cast<double>(size_of(row.problem.dtype)) / row.time_us / 1e3, 1e-9);
  }
}

TEST_F(BenchTest, AChoiceThatCannotBeUsedIsAnError) {
  EXPECT_THAT(error_of(StatusCode::verification_failed,
                       [&] {
                         bench(
                             {{DType::f32, 4, 65}}, {}, [](const Problem&) { return kShort; }, options_,
                             planted_registry());
                       }),
              HasSubstr("f32:4x65"));
}

}  // namespace
}  // namespace softmax_dispatch::tuning::testing
