#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/json.hpp"
#include "cli/machine.hpp"
#include "support/text.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::cli {
namespace {

/// A configuration of `list --resources`, by its compile-time constants.
struct Row {
  const Variant* variant = nullptr;
  DType dtype = DType::f32;
  Constants constants;
  jit::Resources resources;
  std::int64_t shared_bytes = 0;
  double occupancy = 0;
  std::optional<double> compile_s;
  std::string why_not;  ///< Why it can never be chosen; "" where it can.
  bool failed = false;  ///< It did not compile.
};

std::string dtypes_text(const Variant& variant) {
  std::vector<std::string> names;
  for (const DType dtype : variant.dtypes()) names.emplace_back(to_string(dtype));
  return join(names, ", ");
}

std::string axes_text(const Variant& variant) {
  std::vector<std::string> texts;
  for (const Axis& axis : variant.axes()) texts.push_back(axis_text(axis));
  return join(texts, "; ");
}

Json variant_json(const Variant& variant) {
  Json json{{"id", variant.id()}, {"scans", variant.scans()}, {"dtypes", Json::array()}, {"axes", Json::array()}};
  for (const DType dtype : variant.dtypes()) json["dtypes"].push_back(to_string(dtype));
  for (const Axis& axis : variant.axes()) {
    json["axes"].push_back({{"name", axis.name},
                            {"compile_time", axis.compile_time},
                            {"least", axis.least},
                            {"most", axis.most},
                            {"step", axis.step},
                            {"power_of_two", axis.power_of_two}});
  }
  json["needs"] = variant.needs();
  json["summary"] = variant.summary();
  json["selectable"] = variant.selectable();
  return json;
}

Json row_json(const Row& row) {
  Json json{{"dtype", to_string(row.dtype)}, {"constants", json_of(row.constants)}};
  add_resources(json, row.resources, row.shared_bytes, row.occupancy);
  if (row.compile_s) json["compile_s"] = *row.compile_s;
  json["eligible"] = row.why_not.empty();
  if (!row.why_not.empty()) json["reason"] = row.why_not;
  return json;
}

std::vector<const Variant*> variants_of(const ListOptions& options) {
  if (options.variant.empty()) return registry().all();
  return {&registry().at(options.variant)};
}

/// The configurations of the quick sweep and the extremes of every axis, one per compiled kernel.
std::vector<Config> configs_to_compile(const ListOptions& options, const Target& target) {
  const tuning::Sweep sweep = tuning::load_sweep("quick");
  std::vector<Config> configs;
  for (const Variant* variant : variants_of(options)) {
    for (const DType dtype : variant->dtypes()) {
      auto all = variant->enumerate(dtype, sweep.ladders(*variant), target);
      std::ranges::move(variant->extremes(dtype, target), std::back_inserter(all));
      std::set<Constants> seen;
      for (Constants& constants : all) {
        if (seen.insert(variant->compile_time(constants)).second) {
          configs.push_back({std::string(variant->id()), std::move(constants), dtype});
        }
      }
    }
  }
  return configs;
}

Row row_of(const Config& config, const tuning::CompileResult& result, const Target& target) {
  const Variant& variant = registry().at(config.variant);
  Row row{&variant,
          config.dtype,
          variant.compile_time(config.constants),
          result.resources,
          0,
          0,
          result.compile_s,
          {},
          result.error.has_value()};
  if (row.failed) {
    row.why_not = "does not compile: " + *result.error;
    return row;
  }
  // The launch at which shared memory is largest: the longest row whose length changes anything.
  const Problem longest{config.dtype, 1, variant.boundaries_N(config.dtype, config.constants).back()};
  const Geometry geometry = variant.geometry(longest, config.constants);
  row.shared_bytes = shared_bytes(result.resources, geometry);
  row.occupancy = occupancy(target.limits, result.resources, geometry);
  if (!variant.selectable()) {
    row.why_not = "a control, never chosen";
  } else if (result.resources.uses_local_memory()) {
    row.why_not = "its private array or spilled registers are in local memory";
  } else if (row.occupancy <= 0) {
    row.why_not = "no block fits on an SM";
  }
  return row;
}

std::vector<Row> compile_rows(const ListOptions& options) {
  const Target target{arch_limits(options.arch), 0};
  const std::vector<Config> configs = configs_to_compile(options, target);
  const RunCache cache;
  tuning::WorkerSettings settings;
  settings.arch = options.arch;
  settings.cache = cache.path();
  settings.nvrtc = open_nvrtc(target.limits)->path();
  settings.simulated = is_simulated({}, options.arch);  // the cache then has what a tune of that device compiles

  ProgressLine line(options.quiet);
  const auto begin = std::chrono::steady_clock::now();
  const auto total = static_cast<std::int64_t>(configs.size());
  const auto results = tuning::compile_all(configs, worker_command(), settings, [&](std::size_t count) {
    tuning::Progress progress{"compile", static_cast<std::int64_t>(count), total, {}, {}};
    if (count > 0) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      progress.seconds_left = spent.count() * static_cast<double>(configs.size() - count) / static_cast<double>(count);
    }
    if (count < configs.size()) progress.detail = to_string(configs[count]);
    line.update(progress);
  });
  std::vector<Row> rows;
  for (std::size_t i = 0; i < configs.size(); ++i) rows.push_back(row_of(configs[i], results[i], target));
  return rows;
}

std::string variants_text(const ListOptions& options) {
  TextTable table({"id", "scans", "dtypes", "axes", "needs", "summary", "selectable"});
  for (const Variant* variant : variants_of(options)) {
    table.add({std::string(variant->id()), std::to_string(variant->scans()), dtypes_text(*variant), axes_text(*variant),
               std::string(variant->needs()), std::string(variant->summary()), variant->selectable() ? "yes" : "no"});
  }
  return table.text();
}

std::string rows_text(const std::vector<Row>& rows) {
  TextTable table({"variant", "dtype", "constants", "registers", "stack", "spill stores", "spill loads", "shared",
                   "occupancy", "compile s", "eligible"});
  for (const Row& row : rows) {
    const jit::Resources& r = row.resources;
    std::vector<std::string> cells{std::string(row.variant->id()), to_string(row.dtype), to_string(row.constants)};
    if (row.failed) {
      cells.resize(cells.size() + 7);
    } else {
      for (const std::int64_t value :
           {std::int64_t{r.registers}, std::int64_t{r.stack_bytes}, std::int64_t{r.spill_store_bytes},
            std::int64_t{r.spill_load_bytes}, row.shared_bytes}) {
        cells.push_back(std::to_string(value));
      }
      cells.push_back(fmt::format("{:.3f}", row.occupancy));
      cells.push_back(row.compile_s ? fmt::format("{:.2f}", *row.compile_s) : "");
    }
    cells.push_back(row.why_not.empty() ? "yes" : "no: " + row.why_not);
    table.add(std::move(cells));
  }
  return table.text();
}

}  // namespace

int run(const ListOptions& options) {
  const std::vector<Row> rows = options.resources ? compile_rows(options) : std::vector<Row>{};
  if (options.json) {
    Json json = Json::array();
    for (const Variant* variant : variants_of(options)) {
      json.push_back(variant_json(*variant));
      if (!options.resources) continue;
      Json& resources = json.back()["resources"] = Json::array();
      for (const Row& row : rows) {
        if (row.variant == variant) resources.push_back(row_json(row));
      }
    }
    print_json(json);
  } else {
    print(options.resources ? rows_text(rows) : variants_text(options));
  }
  return std::ranges::any_of(rows, &Row::failed) ? kFailed : kDone;
}

}  // namespace softmax_dispatch::cli
