#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <softmax_dispatch/dispatcher.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/console.hpp"
#include "cli/json.hpp"
#include "cli/machine.hpp"
#include "cli/tables.hpp"
#include "support/error.hpp"
#include "tuning/tuner.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::cli {
namespace {

/// Below this the launch and the memory's latency rule, not its bandwidth: such shapes are averaged apart.
constexpr double kShortLimitUs = 15;

/// Samples per configuration and shape.
constexpr int kReplays = 15;

std::vector<Config> all_configs(const tuning::Sweep& sweep, const Target& target) {
  std::vector<Config> configs;
  for (const Variant* variant : registry().all()) {
    for (const DType dtype : variant->dtypes()) {
      for (Constants& constants : variant->enumerate(dtype, sweep.ladders(*variant), target)) {
        configs.push_back({std::string(variant->id()), std::move(constants), dtype});
      }
    }
  }
  return configs;
}

/// The fastest configuration that a table may hold, the chosen one included.
std::pair<Config, double> best_of(const tuning::BenchRow& row) {
  std::pair<Config, double> best{row.chosen, row.time_us};
  for (const tuning::BenchVariant& variant : row.variants) {
    if (variant.skipped || !registry().at(variant.config.variant).selectable()) continue;
    if (variant.time_us < best.second) best = {variant.config, variant.time_us};
  }
  return best;
}

/// A line such as "time / limit: geometric mean 1.041, worst 1.210 (f32:1024x257), over 25 problems".
std::string summary_line(const std::string& name, const std::vector<tuning::BenchRow>& rows, auto&& ratio_of) {
  double log_sum = 0, worst = 0;
  std::size_t count = 0;
  Problem worst_problem;
  for (const tuning::BenchRow& row : rows) {
    const std::optional<double> ratio = ratio_of(row);
    if (!ratio) continue;
    log_sum += std::log(*ratio);
    ++count;
    if (*ratio > worst) {
      worst = *ratio;
      worst_problem = row.problem;
    }
  }
  if (count == 0) return {};
  return fmt::format("{}: geometric mean {:.3f}, worst {:.3f} ({}), over {} problem{}\n", name,
                     std::exp(log_sum / static_cast<double>(count)), worst, to_string(worst_problem), count,
                     count == 1 ? "" : "s");
}

std::string rows_text(const std::vector<tuning::BenchRow>& rows, bool all_variants, bool reduce_once) {
  std::vector<std::string> header{"problem", "chosen", "time us", "limit us", "time / limit", "GB/s"};
  if (reduce_once) header.insert(header.end(), {"reduce us", "time / reduce"});
  if (all_variants) header.insert(header.end(), {"best", "best us", "chosen / best"});
  TextTable table(header);
  for (const tuning::BenchRow& row : rows) {
    std::vector<std::string> cells{to_string(row.problem), to_string(row.chosen)};
    for (const double value : {row.time_us, row.limit_us, row.time_us / row.limit_us}) {
      cells.push_back(fmt::format("{:.3f}", value));
    }
    cells.push_back(fmt::format("{:.1f}", row.gb_per_s));
    if (reduce_once && row.reduce_once_us) {
      for (const double value : {*row.reduce_once_us, row.time_us / *row.reduce_once_us})
        cells.push_back(fmt::format("{:.3f}", value));
    } else if (reduce_once) {
      cells.insert(cells.end(), {"-", "-"});
    }
    if (all_variants) {
      const auto [config, time_us] = best_of(row);
      cells.insert(cells.end(),
                   {to_string(config), fmt::format("{:.3f}", time_us), fmt::format("{:.3f}", row.time_us / time_us)});
    }
    table.add(std::move(cells));
  }
  std::string text = table.text() + "\n";
  using Ratio = std::optional<double>;
  if (all_variants) {
    text +=
        summary_line("chosen / best", rows, [](const auto& row) { return Ratio(row.time_us / best_of(row).second); });
  }
  text += summary_line(fmt::format("time / limit, limit >= {} us", kShortLimitUs), rows, [](const auto& row) {
    return row.limit_us >= kShortLimitUs ? Ratio(row.time_us / row.limit_us) : std::nullopt;
  });
  text += summary_line(fmt::format("time / limit, limit < {} us", kShortLimitUs), rows, [](const auto& row) {
    return row.limit_us < kShortLimitUs ? Ratio(row.time_us / row.limit_us) : std::nullopt;
  });
  text += summary_line(fmt::format("time / reduce, limit < {} us", kShortLimitUs), rows, [](const auto& row) {
    const bool is_short = row.limit_us < kShortLimitUs;
    return is_short && row.reduce_once_us ? Ratio(row.time_us / *row.reduce_once_us) : std::nullopt;
  });
  return text;
}

std::string origin_text(const DeviceInfo& device) {
  return fmt::format("{} {}\n", device.simulated ? "times of a model, not measured: on" : "measured on",
                     gpu_text(device));
}

Json rows_json(const std::vector<tuning::BenchRow>& rows, const DeviceInfo& device) {
  Json json = Json::array();
  for (const tuning::BenchRow& row : rows) {
    Json variants = Json::array();
    for (const tuning::BenchVariant& variant : row.variants) {
      variants.push_back(json_of(variant.config));
      if (variant.skipped) {
        variants.back()["skipped"] = *variant.skipped;
      } else {
        variants.back()["time_us"] = variant.time_us;
      }
    }
    json.push_back({{"problem", to_string(row.problem)},
                    {"chosen", json_of(row.chosen)},
                    {"time_us", row.time_us},
                    {"limit_us", row.limit_us},
                    {"gb_per_s", row.gb_per_s},
                    {"device", device.name},
                    {"simulated", device.simulated},
                    {"variants", std::move(variants)}});
    if (row.reduce_once_us) json.back()["reduce_once_us"] = *row.reduce_once_us;
    if (row.no_reduce_once) json.back()["no_reduce_once"] = *row.no_reduce_once;
  }
  return json;
}

}  // namespace

int run(const BenchOptions& options) {
  std::optional<table::Table> table;
  if (options.table) table = load_table(*options.table);
  const DeviceInfo device = choose_device(options.device, table ? table->device.arch : "");
  announce_simulated(device, options.device, "timing on");

  Dispatcher dispatcher;
  check(Dispatcher::create({options.table ? options.table->string() : "", "", "cuda"}, dispatcher));
  const auto choose = [&](const Problem& problem) {
    std::string text;
    check(dispatcher.choice(problem, device.arch.c_str(), text));
    return parse_config(text);
  };
  std::vector<Config> candidates;
  if (options.all_variants) {
    candidates =
        all_configs(tuning::load_sweep(table ? table->sweep.effort : "quick"), {device.limits, device.sm_count});
  }

  const RunCache cache;
  ProgressLine line(options.quiet);
  tuning::BenchOptions bench;
  bench.worker = worker_command();
  bench.settings = worker_settings(device, cache.path(), open_nvrtc(device.limits)->path());
  bench.plan = {options.protocol, kReplays, options.seed};
  bench.all_variants = options.all_variants;
  bench.reduce_once = options.reduce_once;
  bench.progress = [&](const tuning::Progress& progress) { line.update(progress); };
  const auto rows = tuning::bench(options.problems, candidates, choose, bench, registry());
  if (options.json) {
    print_json(rows_json(rows, device));
  } else {
    print(rows_text(rows, options.all_variants, options.reduce_once) + origin_text(device));
  }
  return kDone;
}

}  // namespace softmax_dispatch::cli
