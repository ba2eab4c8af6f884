#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/json.hpp"
#include "cli/machine.hpp"
#include "cli/simulate.hpp"
#include "jit/compiler.hpp"
#include "support/error.hpp"
#include "support/text.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::cli {
namespace {

/// The constants as set, completed for the problem. Throws Error(invalid_argument) for constants that no problem can
/// have, Error(unsupported) where they don't serve this one.
Constants complete_constants(const ProfileOptions& options, const Variant& variant, const Target& target) {
  for (const auto& [name, value] : options.constants) {
    const auto& axes = variant.axes();
    const auto axis = std::ranges::find(axes, name, &Axis::name);
    if (axis == axes.end()) {
      std::vector<std::string> names;
      for (const Axis& known : axes) names.push_back(known.name);
      throw_error(StatusCode::invalid_argument, "--set {}={}: {} has no such constant; it has {}", name, value,
                  options.variant, join(names, ", "));
    }
    if (!axis->holds(value)) {
      throw_error(StatusCode::invalid_argument, "--set {}={}: {} takes {}", name, value, options.variant,
                  axis_text(*axis));
    }
  }
  return variant.complete(options.problem, options.constants, target);
}

Json counts_json(const sim::LaunchCounts& counts) {
  using sim::OpClass;
  Json json{{"warp_instructions", counts.warp_instructions}};
  constexpr std::pair<const char*, OpClass> kClasses[]{{"global_load", OpClass::global_load},
                                                       {"global_store", OpClass::global_store},
                                                       {"shared_load", OpClass::shared_load},
                                                       {"shared_store", OpClass::shared_store},
                                                       {"special_function", OpClass::special_function},
                                                       {"fp32", OpClass::fp32},
                                                       {"conversion", OpClass::conversion},
                                                       {"shuffle", OpClass::shuffle},
                                                       {"barrier", OpClass::barrier},
                                                       {"branch", OpClass::branch}};
  for (const auto& [name, op_class] : kClasses) json[name] = counts.of(op_class);
  json["branch_uniformity"] = counts.branch_uniformity();
  json["sectors_load"] = counts.sectors_load;
  json["sectors_store"] = counts.sectors_store;
  json["bytes_load"] = counts.bytes_load;
  json["bytes_store"] = counts.bytes_store;
  json["blocks"] = counts.blocks;
  json["sampled_blocks"] = counts.sampled_blocks;
  return json;
}

Json model_json(const sim::ModelledTime& time) {
  Json terms = Json::object();
  for (const sim::TimeTerm& term : time.terms) terms[term.name] = term.time_us;
  return {{"time_us", time.time_us}, {"bound", time.bound}, {"terms", std::move(terms)}};
}

void add_rows(TextTable& table, const std::string& prefix, const Json& json) {
  for (const auto& [key, value] : json.items()) {
    if (value.is_object()) {
      add_rows(table, prefix + key + ".", value);
    } else if (value.is_number_float()) {
      table.add({prefix + key, fmt::format("{:.4g}", value.get<double>())});
    } else {
      table.add({prefix + key, value.is_string() ? value.get<std::string>() : value.dump()});
    }
  }
}

/// Of the figures that a simulation gives: how exact they are.
std::string simulated_text(const Json& json, const sim::LaunchCounts& counts) {
  std::string text = fmt::format("\ncounts and model are of the simulated {}: ", json["device"].get<std::string>());
  if (counts.sampled_blocks == counts.blocks) {
    text += "the counts are exact, ";
  } else {
    text += fmt::format("the counts are those of {} of {} blocks, scaled, ", counts.sampled_blocks, counts.blocks);
  }
  return text + "the times are a model's, on buffers that were just used\n";
}

}  // namespace

int run(const ProfileOptions& options) {
  const Variant& variant = registry().at(options.variant);
  const Target target{arch_limits(options.arch), 0};
  const Constants constants = complete_constants(options, variant, target);
  const bool simulated = is_simulated(options.device, options.arch);

  const jit::Compiler compiler(open_nvrtc(target.limits), jit::Sources::product(), jit::Cache::user_default(),
                               simulated ? jit::Output::ptx : jit::Output::cubin);
  const jit::Resources resources =
      compiler.compile(options.variant, variant.macros(options.problem.dtype, constants), options.arch).resources;
  const Geometry geometry = variant.geometry(options.problem, constants);

  Json json = json_of(Config{options.variant, constants, options.problem.dtype});
  json["arch"] = options.arch;
  json["grid"] = geometry.grid;
  json["block"] = geometry.block;
  add_resources(json, resources, shared_bytes(resources, geometry), occupancy(target.limits, resources, geometry));
  std::string note;
  if (simulated) {
    const Simulated launch = simulate(compiler, variant, constants, options.problem, options.arch);
    json["device"] = launch.device.name;
    json["simulated"] = true;
    json["counts"] = counts_json(launch.counts);
    json["model"] = model_json(launch.time);
    note = simulated_text(json, launch.counts);
  }
  if (options.json) {
    print_json(json);
    return kDone;
  }
  json["constants"] = to_string(constants);
  TextTable table({"figure", "value"});
  add_rows(table, "", json);
  print(table.text() + note);
  return kDone;
}

}  // namespace softmax_dispatch::cli
