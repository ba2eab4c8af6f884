#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/json.hpp"
#include "cli/machine.hpp"
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

}  // namespace

int run(const ProfileOptions& options) {
  const Variant& variant = registry().at(options.variant);
  const Target target{arch_limits(options.arch), 0};
  const Constants constants = complete_constants(options, variant, target);
  refuse_simulated(options.device);
  if (options.device.kind == DeviceChoice::Kind::cuda) choose_gpu(options.device, options.arch);

  const jit::Compiler compiler(open_nvrtc(target.limits), jit::Sources::product(), jit::Cache::user_default());
  const jit::Resources resources =
      compiler.compile(options.variant, variant.compile_time(constants), options.arch).resources;
  const Geometry geometry = variant.geometry(options.problem, constants);

  Json json = json_of(Config{options.variant, constants});
  json["arch"] = options.arch;
  json["grid"] = geometry.grid;
  json["block"] = geometry.block;
  add_resources(json, resources, shared_bytes(resources, geometry), occupancy(target.limits, resources, geometry));
  if (options.json) {
    print_json(json);
    return kDone;
  }
  TextTable table({"figure", "value"});
  for (const auto& [key, value] : json.items()) {
    std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (key == "constants") text = to_string(constants);
    table.add({key, std::move(text)});
  }
  print(table.text());
  return kDone;
}

}  // namespace softmax_dispatch::cli
