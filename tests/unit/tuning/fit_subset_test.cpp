#include "tuning/fit_subset.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tuning/fit.hpp"
#include "unit/tuning/sample_journal.hpp"

namespace softmax_dispatch::tuning::testing {
namespace {

using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr char kA[] = "v7 THREADS=64 VEC_ITEMS=4";
constexpr char kB[] = "v7 THREADS=128 VEC_ITEMS=4";
constexpr char kC[] = "v7 THREADS=256 VEC_ITEMS=4";
constexpr char kUnbounded[] = "unbounded THREADS=256";
constexpr char kOtherUnbounded[] = "unbounded THREADS=1024";
constexpr std::int64_t kM = 64;

/// A length, and the microseconds of some of the configurations.
struct Row {
  std::int64_t N;
  std::vector<std::pair<const char*, double>> times_us;
};

Journal journal_of(const std::vector<Row>& rows) {
  Journal journal = sample_journal(std::vector<std::string>{kA, kB, kC, kUnbounded, kOtherUnbounded});
  for (const Row& row : rows)
    for (const auto& [config, time_us] : row.times_us)
      journal.measurements.push_back(measured(parse_config(config), kM, row.N, time_us));
  return journal;
}

FitData data_of(const Journal& journal) {
  return fit_data(journal, registry(), DType::f32);
}

using Times = std::map<std::string, double>;  ///< "v7 THREADS=64 VEC_ITEMS=4 at 64x256" -> microseconds.

Times times_of(const FitData& data) {
  Times result;
  for (const auto& [alignment, times] : data.times)
    for (const auto& [N, fields] : times.by_N())
      for (const auto& [M, field] : fields)
        for (const auto& [candidate, time_us] : field)
          result[fmt::format("{} at {}x{}", to_string(data.candidates[candidate].config), M, N)] = time_us;
  return result;
}

/// The configurations of which there are times.
std::set<std::string> kept(const FitData& data) {
  std::set<std::string> result;
  for (const auto& [text, time_us] : times_of(data)) result.insert(text.substr(0, text.find(" at ")));
  return result;
}

std::set<std::string> kept(const std::vector<Row>& rows, std::size_t most) {
  return kept(fastest_few(data_of(journal_of(rows)), most));
}

// Each is the best somewhere. C is within a tenth of the best everywhere, so that it is the best of one.
const std::vector<Row> kRows{{200, {{kA, 10}, {kB, 20}, {kC, 11}, {kUnbounded, 30}}},
                             {400, {{kA, 20}, {kB, 10}, {kC, 11}, {kUnbounded, 30}}},
                             {900, {{kA, 10.2}, {kB, 10.2}, {kC, 10}, {kUnbounded, 30}, {kOtherUnbounded, 40}}}};

TEST(FitSubset, KeepsAllWhereThereAreFew) {
  const Journal journal = journal_of(kRows);  // which the data point into
  const FitData data = data_of(journal);
  ASSERT_THAT(data.candidates, SizeIs(5));
  for (const std::size_t most : {5U, 6U, 64U}) EXPECT_EQ(times_of(fastest_few(data, most)), times_of(data)) << most;
}

TEST(FitSubset, OneBesideTheUnboundedIsTheOneThatLosesLittleEverywhere) {
  EXPECT_THAT(kept(kRows, 2), UnorderedElementsAre(kC, kUnbounded));
}

TEST(FitSubset, AnExchangeMendsWhatWasTakenFirst) {
  // A and B lose 2 % at one length. C comes first, and the better of A and B beside it would lose 10 % at another.
  EXPECT_THAT(kept(kRows, 3), UnorderedElementsAre(kA, kB, kUnbounded));
}

TEST(FitSubset, HasNoMoreThanAllowedAndTheSimplestUnboundedAlways) {
  const Journal journal = journal_of(kRows);  // which the data point into
  const FitData data = data_of(journal);
  for (std::size_t most = 1; most <= 5; ++most) {
    const std::set<std::string> few = kept(fastest_few(data, most));
    EXPECT_LE(few.size(), most);
    EXPECT_TRUE(few.contains(kUnbounded)) << most;
  }
  EXPECT_THAT(kept(kRows, 1), UnorderedElementsAre(kUnbounded));
}

TEST(FitSubset, ALargeLossWeighsMoreThanManySmallOnes) {
  // B loses a factor of two at one length, C 8 % at ten: the larger product, and the better choice.
  std::vector<Row> rows{{100, {{kB, 20}, {kC, 10}, {kUnbounded, 90}}}};
  for (std::int64_t N = 200; N <= 245; N += 5) rows.push_back({N, {{kB, 10}, {kC, 10.8}, {kUnbounded, 90}}});
  EXPECT_THAT(kept(rows, 2), UnorderedElementsAre(kC, kUnbounded));
}

TEST(FitSubset, ALossAtALongShapeWeighsMore) {
  // By ratio alone A and B are alike, and A is the first.
  const std::vector<Row> rows{{200, {{kA, 1}, {kB, 2}, {kUnbounded, 9}}},
                              {900, {{kA, 2000}, {kB, 1000}, {kUnbounded, 9000}}}};
  EXPECT_THAT(kept(rows, 2), UnorderedElementsAre(kB, kUnbounded));
}

TEST(FitSubset, ALongShapeIsNotLeftUnservedForShortOnes) {
  const std::vector<Row> rows{{200, {{kA, 1}}}, {400, {{kA, 1}}}, {900, {{kB, 160'000}}}};
  EXPECT_THAT(kept(rows, 2), UnorderedElementsAre(kB)) << "nothing was measured of the unbounded one";
}

TEST(FitSubset, OfEqualsTheFirstWhateverTheOrderOfEvents) {
  std::vector<Row> rows = kRows;
  for (Row& row : rows) row.times_us = {{kB, 10}, {kA, 10}, {kC, 10}, {kUnbounded, 30}};
  const std::set<std::string> first = kept(rows, 2);
  EXPECT_THAT(first, UnorderedElementsAre(to_string(data_of(journal_of(rows)).candidates.front().config), kUnbounded));
  Journal journal = journal_of(rows);
  std::mt19937 random(7);
  for (int i = 0; i < 5; ++i) {
    std::shuffle(journal.compiles.begin(), journal.compiles.end(), random);
    std::shuffle(journal.measurements.begin(), journal.measurements.end(), random);
    EXPECT_EQ(kept(fastest_few(data_of(journal), 2)), first);
  }
}

TEST(FitSubset, LaunchesOfOneCompiledKernelCountOnce) {
  Journal journal = journal_of(kRows);
  const auto of_both = [](const Config& config) { return config == parse_config(kA) || config == parse_config(kB); };
  for (CompileEvent& event : journal.compiles)
    if (of_both(event.config)) event.code_hash = "the same";
  for (VerifyEvent& event : journal.verifications)
    if (of_both(event.config)) event.code_hash = "the same";
  EXPECT_THAT(kept(fastest_few(data_of(journal), 2)), UnorderedElementsAre(kA, kB, kUnbounded));
}

TEST(FitSubset, LeavesTheTimesOfTheOthersOutAndChangesNone) {
  const Journal journal = journal_of(kRows);  // which the data point into
  const FitData data = data_of(journal);
  const Times before = times_of(data);
  const FitData few = fastest_few(data, 2);
  EXPECT_EQ(times_of(data), before);
  EXPECT_THAT(few.candidates, SizeIs(data.candidates.size())) << "positions stay what they are";
  EXPECT_EQ(few.M, data.M);
  Times expected = before;
  std::erase_if(expected,
                [](const auto& entry) { return !entry.first.starts_with(kC) && !entry.first.starts_with(kUnbounded); });
  EXPECT_EQ(times_of(few), expected);
}

TEST(FitOfFewKernels, RegretAndRunnerUpCountThoseLeftOut) {
  const Journal journal = journal_of(kRows);
  const table::Table table = fit(journal, registry(), nullptr, 0.5, 2);
  ASSERT_THAT(table.kernels, SizeIs(2));
  const table::Threshold& first = table.tables[0].bands[0].thresholds[0];
  EXPECT_EQ(first.use, table::kernel_name(parse_config(kC)));
  EXPECT_NEAR(*table.regret_worst, 1.1, 1e-9);
  EXPECT_NEAR(*table.regret_geomean, 1.0656, 1e-4) << "(1.1 * 1.1 * 1)^(1/3)";
  ASSERT_TRUE(first.runner_up);
  EXPECT_THAT(*first.runner_up, ::testing::AnyOf(kA, kB));
  EXPECT_GT(fit(journal, registry(), nullptr, 0.5).kernels.size(), 2U) << "or the cap changed nothing";
}

TEST(FitOfFewKernels, TheCapIsOfEachType) {
  Journal journal = journal_of(kRows);
  for (const char* text : {"unbounded f16 THREADS=256", "lanes f16 LANES=8 ROWS=1 STREAM=1 THREADS=128 VEC_ITEMS=2"}) {
    const Config config = parse_config(text);
    journal.compiles.push_back(compiled(config));
    journal.verifications.push_back(verified(config));
    journal.measurements.push_back(measured(config, kM, 100, config.variant == "lanes" ? 1 : 2));
  }
  EXPECT_THAT(fit(journal, registry(), nullptr, 0.5, 2).kernels, SizeIs(4));
}

TEST(FitOfFewKernels, AShapeOfThoseLeftOutAloneTakesItsChoiceFromAnother) {
  Journal journal = journal_of({{900, {{kUnbounded, 30}, {kC, 10}}}});
  journal.measurements.push_back(measured(parse_config(kC), 2 * kM, 900, 20));
  const table::Table table = fit(journal, registry(), nullptr, 2, 1);
  ASSERT_THAT(table.kernels, SizeIs(1));
  const table::Threshold& first = table.tables[0].bands[0].thresholds[0];
  EXPECT_EQ(first.use, table::kernel_name(parse_config(kUnbounded)));
  EXPECT_EQ(first.runner_up, kC);
  EXPECT_NEAR(*first.margin_pct, -66.7, 1e-9);
  EXPECT_NEAR(*table.regret_worst, 3, 1e-9);
}

}  // namespace
}  // namespace softmax_dispatch::tuning::testing
