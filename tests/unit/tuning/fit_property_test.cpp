#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/hash.hpp"
#include "table/table.hpp"
#include "tuning/candidates.hpp"
#include "tuning/fit.hpp"
#include "unit/tuning/sample_journal.hpp"

namespace softmax_dispatch::tuning::testing {
namespace {

bool known_variant(std::string_view id) {
  return registry().find(id) != nullptr;
}

/// A journal of random times in which things went wrong at random, and what may be in its table.
class RandomJournal {
 public:
  explicit RandomJournal(std::uint32_t seed) : random_(seed) {
    Sweep sweep = load_sweep("quick");
    const Target target{arch_limits("sm_90"), 132};
    std::vector<Config> configs = sweep_configs(sweep, registry(), target, DType::f32);
    configs.push_back(parse_config("v4_branchy THREADS=256"));
    std::shuffle(configs.begin(), configs.end(), random_);
    configs.resize(2 + below(40));
    const Config last_resort = parse_config(below(2) ? "unbounded THREADS=256" : "unbounded THREADS=1024");
    std::erase(configs, last_resort);
    journal.run = sample_run();
    eligible.insert(last_resort);
    journal.compiles.push_back(compiled(last_resort));
    journal.verifications.push_back(verified(last_resort));
    for (const Config& config : configs) add(config);
    configs.push_back(last_resort);

    const auto Ms = some(sweep.M), Ns = some(sweep.N);
    for (const std::int64_t M : Ms) {
      for (const std::int64_t N : Ns) {
        if (below(8) == 0) continue;
        for (const Config& config : candidates_at({DType::f32, M, N}, configs, registry(), target)) {
          if (below(10) == 0) continue;
          journal.measurements.push_back(measured(config, M, N, 1 + static_cast<double>(below(1000)) / 100));
          if (below(5) == 0) {
            journal.measurements.push_back(measured(config, M, N, 1 + static_cast<double>(below(1000)) / 100));
            journal.measurements.back().final = true;
          }
        }
      }
    }
    if (below(2)) journal.end = EndEvent{1, false};
  }

  /// The same events in another order.
  Journal shuffled() {
    Journal other = journal;
    std::shuffle(other.compiles.begin(), other.compiles.end(), random_);
    std::shuffle(other.verifications.begin(), other.verifications.end(), random_);
    std::shuffle(other.measurements.begin(), other.measurements.end(), random_);
    std::shuffle(other.quarantines.begin(), other.quarantines.end(), random_);
    return other;
  }

  std::size_t below(std::size_t bound) { return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_); }

  /// From 1 up, all magnitudes alike.
  std::int64_t any_size() {
    return static_cast<std::int64_t>(std::exp2(std::uniform_real_distribution(0.0, 33.0)(random_)));
  }

  Journal journal;
  std::set<Config> eligible;

 private:
  void add(const Config& config) {
    CompileEvent compile = compiled(config);
    VerifyEvent verification = verified(config);
    const std::size_t fate = below(12);
    if (fate == 0) compile.error = "no";
    if (fate == 1) compile.resources.stack_bytes = 16;
    if (fate == 2) verification.outcome.passed = false;
    if (fate == 3) verification.code_hash = hash_hex("other code");
    if (fate == 4) journal.quarantines.push_back({config, "measure", "killed its worker"});
    if (fate != 5) journal.verifications.push_back(verification);
    if (fate == 6) {
      verification.outcome.passed = false;
      journal.verifications.push_back(verification);
    }
    journal.compiles.push_back(compile);
    if (fate > 6 && registry().at(config.variant).selectable()) eligible.insert(config);
  }

  std::vector<std::int64_t> some(std::vector<std::int64_t> values) {
    std::shuffle(values.begin(), values.end(), random_);
    values.resize(1 + below(values.size()));
    return values;
  }

  std::mt19937 random_;
};

class FitProperty : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(FitProperty, GivesAValidTotalTableOfEligibleKernels) {
  RandomJournal random(GetParam());
  const table::Table table = fit(random.journal, registry(), nullptr);
  const std::string text = table::write(table);
  EXPECT_EQ(table::write(table::read(text, "fitted", known_variant)), text);
  for (const table::Kernel& kernel : table.kernels) EXPECT_TRUE(random.eligible.contains(kernel.config)) << kernel.name;

  for (int i = 0; i < 500; ++i) {
    const Problem problem{DType::f32, random.any_size(), random.any_size()};
    for (const auto alignment : {table::Alignment::aligned, table::Alignment::unaligned}) {
      const table::Choice choice = table::lookup(table, problem, alignment);
      ASSERT_NE(choice.kernel, nullptr);
      const Config& config = choice.kernel->config;
      EXPECT_LE(problem.N, registry().at(config.variant).accurate_N(config.dtype, config.constants))
          << to_string(problem) << " " << to_string(config);
    }
  }
}

TEST_P(FitProperty, DoesNotDependOnTheOrderOfEvents) {
  RandomJournal random(GetParam());
  const std::string text = table::write(fit(random.journal, registry(), nullptr));
  EXPECT_EQ(table::write(fit(random.journal, registry(), nullptr)), text);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(table::write(fit(random.shuffled(), registry(), nullptr)), text);
}

TEST_P(FitProperty, WithOneMTheChoiceIsWithinTheTieOfTheBest) {
  RandomJournal random(GetParam());
  const std::int64_t M = random.journal.measurements.empty() ? 1 : random.journal.measurements.front().problem.M;
  std::erase_if(random.journal.measurements, [&](const MeasureEvent& event) { return event.problem.M != M; });
  const table::Table table = fit(random.journal, registry(), nullptr, 2.0);
  EXPECT_LE(table.regret_worst.value_or(1), 1.0201);
}

TEST_P(FitProperty, OfFewKernelsIsAValidTotalTableToo) {
  RandomJournal random(GetParam());
  for (const std::size_t most : {1U, 2U, 5U}) {
    const table::Table table = fit(random.journal, registry(), nullptr, 2.0, most);
    EXPECT_LE(table.kernels.size(), most);
    const std::string text = table::write(table);
    EXPECT_EQ(table::write(table::read(text, "fitted", known_variant)), text);
    EXPECT_EQ(table::write(fit(random.shuffled(), registry(), nullptr, 2.0, most)), text);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FitProperty, ::testing::Range(0U, 40U));

}  // namespace
}  // namespace softmax_dispatch::tuning::testing
