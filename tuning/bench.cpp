#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/error.hpp"
#include "tuning/bench_kernels.hpp"
#include "tuning/shape_timer.hpp"
#include "tuning/stages.hpp"
#include "tuning/tuner.hpp"

namespace softmax_dispatch::tuning {
namespace {

/// What is far slower than the best is no news after one sample.
constexpr double kRaceFactor = 4;
constexpr double kFinalistFactor = 1.25;
constexpr int kScreenReplays = 3;

class Bench {
 public:
  Bench(const BenchOptions& options, const Registry& registry)
      : options_(options),
        registry_(registry),
        timer_(options.worker, options.settings, [](const Config&, const std::string&) {}) {}

  std::vector<BenchRow> run(const std::vector<Problem>& problems, const std::vector<Config>& candidates,
                            const std::function<Config(const Problem&)>& choose) {
    std::vector<BenchRow> rows;
    std::vector<Config> all;
    for (const Problem& problem : problems) {
      BenchRow& row = rows.emplace_back();
      row.problem = problem;
      row.chosen = choose(problem);
      all.push_back(row.chosen);
    }
    const auto wanted = [&](const Config& config) {
      return std::any_of(problems.begin(), problems.end(),
                         [&](const Problem& problem) { return problem.dtype == config.dtype; });
    };
    if (options_.all_variants) std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(all), wanted);
    std::set<Config> seen;
    std::erase_if(all, [&](const Config& config) { return !seen.insert(config).second; });

    const DeviceInfo info = timer_.worker().device_info();
    const Target target{info.limits, info.sm_count};
    reject_broken(all);
    if (options_.reduce_once) compile_reduce_once(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      report("measure", i, rows.size(), to_string(rows[i].problem));
      time_row(rows[i], options_.all_variants ? all : std::vector{rows[i].chosen}, target);
    }
    report("measure", rows.size(), rows.size(), "");
    return rows;
  }

 private:
  void report(const std::string& stage, std::size_t done, std::size_t total, const std::string& detail) const {
    if (options_.progress)
      options_.progress({stage, static_cast<std::int64_t>(done), static_cast<std::int64_t>(total), detail, {}});
  }

  /// In parallel, and notes what does not compile.
  void compile(const std::vector<Config>& configs) {
    std::size_t done = 0;
    compile_configs(
        configs, options_.worker, options_.settings,
        [&](std::size_t i, const CompileResult& result) {
          if (result.error) broken_[configs[i]] = *result.error;
          report("compile", ++done, configs.size(), to_string(configs[i]));
        },
        nullptr);
  }

  /// Compiles and verifies, and notes why a configuration cannot be timed.
  void reject_broken(const std::vector<Config>& configs) {
    compile(configs);
    std::vector<Config> compiled;
    std::copy_if(configs.begin(), configs.end(), std::back_inserter(compiled),
                 [&](const Config& config) { return !broken_.contains(config); });
    std::size_t done = 0;
    verify_configs(
        compiled, verify::Depth::brief, options_.worker, options_.settings,
        [&](std::size_t i, const Verified& verified) {
          if (!verified.outcome.passed) broken_[compiled[i]] = "failed verification: " + verified.outcome.reason;
          report("verify", ++done, compiled.size(), to_string(compiled[i]));
        },
        nullptr);
  }

  /// Ahead of the worker that takes the times: one after the other they would take longer than these.
  void compile_reduce_once(const std::vector<BenchRow>& rows) {
    std::set<Config> kernels;
    for (const BenchRow& row : rows)
      if (std::optional<Config> kernel = reduce_once_of(registry_, row.chosen)) kernels.insert(*std::move(kernel));
    compile({kernels.begin(), kernels.end()});
  }

  /// Why a configuration is not timed at the problem; nothing where it is.
  std::optional<std::string> obstacle(const Problem& problem, const Config& config, const Target& target) const {
    if (const auto broken = broken_.find(config); broken != broken_.end()) return broken->second;
    const Variant& variant = registry_.at(config.variant);
    if (const Support support = variant.supports(problem, config.constants, target); !support) return support.reason;
    if (const std::int64_t accurate = variant.accurate_N(config.dtype, config.constants); problem.N > accurate)
      return fmt::format("N={} is above {}, up to which its sum is accurate enough", problem.N, accurate);
    return std::nullopt;
  }

  void time_row(BenchRow& row, const std::vector<Config>& configs, const Target& target) {
    std::vector<Config> able;
    for (const Config& config : configs) {
      if (config.dtype != row.problem.dtype) continue;
      const std::optional<std::string> why_not = obstacle(row.problem, config, target);
      if (!why_not)
        able.push_back(config);
      else if (config == row.chosen)
        throw_error(StatusCode::verification_failed,
                    "the choice for {}, {}, cannot be used: {}; tune this device again", to_string(row.problem),
                    to_string(config), *why_not);
      else
        row.variants.push_back({config, 0, *why_not});
    }
    ShapePlan plan{options_.plan, kFinalistFactor, options_.plan.replays};
    plan.screen.replays = kScreenReplays;
    plan.screen.race_factor = kRaceFactor;
    if (plan.screen.protocol == Protocol::published) plan.final_replays = 0;
    for (const Timed& timed : timer_.time(row.problem, able, plan, row.chosen)) {
      if (timed.config == row.chosen) {
        if (timed.error)
          throw_error(StatusCode::device, "the choice for {}, {}, could not be timed: {}", to_string(row.problem),
                      to_string(timed.config), *timed.error);
        row.time_us = timed.timing.median_us;
      }
      if (options_.all_variants) row.variants.push_back({timed.config, timed.timing.median_us, timed.error});
    }
    row.limit_us = timer_.copy_limit_us(row.problem, options_.plan);
    if (options_.reduce_once) time_reduce_once(row);
    const auto elements = static_cast<double>(row.problem.M) * static_cast<double>(row.problem.N);
    row.gb_per_s = 2 * elements * static_cast<double>(size_of(row.problem.dtype)) / (row.time_us * 1e3);
  }

  void time_reduce_once(BenchRow& row) {
    if (const auto kernel = reduce_once_of(registry_, row.chosen); kernel && broken_.contains(*kernel)) {
      row.no_reduce_once = broken_.at(*kernel);
      return;
    }
    const TimeResult result = timer_.reduce_once(row.problem, row.chosen, options_.plan);
    row.no_reduce_once = result.error;
    if (!result.error) row.reduce_once_us = summarize(result.samples_us).median_us;
  }

  const BenchOptions& options_;
  const Registry& registry_;
  ShapeTimer timer_;
  std::map<Config, std::string> broken_;
};

}  // namespace

std::vector<BenchRow> bench(const std::vector<Problem>& problems, const std::vector<Config>& candidates,
                            const std::function<Config(const Problem&)>& choose, const BenchOptions& options,
                            const Registry& registry) {
  return Bench(options, registry).run(problems, candidates, choose);
}

}  // namespace softmax_dispatch::tuning
