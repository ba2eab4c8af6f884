#include "dispatch/decision_source.hpp"

#include <softmax_dispatch/version.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "dispatch/describe.hpp"
#include "dispatch/rule.hpp"
#include "support/dtype.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/log.hpp"
#include "support/text.hpp"
#include "table/snapshot.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::runtime {
namespace {

bool is_known_variant(std::string_view id) {
  return registry().find(id) != nullptr;
}

/// Of a table's text as this version of the library reads it, with the variants that it knows.
std::string snapshot_key(std::string_view text) {
  Hasher hasher;
  hasher.add("table").add(table::kSnapshotFormat).add(SOFTMAX_DISPATCH_VERSION);
  for (const Variant* variant : registry().all()) hasher.add(variant->id());
  return hasher.add(text).hex();
}

/// The configuration for the type that the text names; where it names none, for every type that the variant computes.
std::vector<Config> parse_forced(const std::string& text, const Registry& variants) {
  const Config config = parse_config(text);
  const Variant& variant = variants.at(config.variant);
  const std::vector<Axis>& axes = variant.axes();
  for (const Axis& axis : axes) {
    const auto found = config.constants.find(axis.name);
    if (found == config.constants.end()) {
      throw_error(StatusCode::invalid_argument, "forced configuration '{}': {} has no value; set every axis of {}",
                  text, axis.name, config.variant);
    }
    if (!axis.holds(found->second)) {
      throw_error(StatusCode::invalid_argument, "forced configuration '{}': {} must be from {} to {}{}", text,
                  axis.name, axis.least, axis.most,
                  axis.power_of_two ? ", a power of two" : fmt::format(", a multiple of {}", axis.step));
    }
  }
  for (const auto& constant : config.constants) {
    const auto is_named = [&constant](const Axis& axis) { return axis.name == constant.first; };
    if (std::none_of(axes.begin(), axes.end(), is_named)) {
      throw_error(StatusCode::invalid_argument, "forced configuration '{}': {} has no axis {}", text, config.variant,
                  constant.first);
    }
  }
  const std::vector<std::string_view> words = split(trim(text), ' ');
  if (std::any_of(words.begin(), words.end(), [](std::string_view word) { return dtype_of(word).has_value(); })) {
    return {config};
  }
  std::vector<Config> all;
  for (const DType dtype : variant.dtypes()) all.push_back({config.variant, config.constants, dtype});
  return all;
}

/// Says what a table that was not made on this very device may lack. Its kernels are right all the same: each is
/// verified on the device unless its record covers it.
void log_staleness(const table::Table& table, const DeviceInfo& device) {
  const std::string here = describe(device);
  if (table.device.name.empty()) {
    log(LogLevel::info, "no table for {}: choosing by rule; softmax-tune --arch {} makes one", here, device.arch);
    return;
  }
  if (table.device.simulated && !device.simulated) {
    log(LogLevel::warn, "the thresholds in use on {} are simulated, not measured: run softmax-tune --arch {} on it",
        here, device.arch);
    return;
  }
  if (!table.device.simulated && device.simulated) {
    log(LogLevel::info, "the table in use on {} was measured on hardware ({}): each kernel is verified here first",
        here, table.device.name);
    return;
  }
  if (table.device.name != device.name) {
    log(LogLevel::warn, "the table in use on {} was {} {}: a retune with softmax-tune may help", here,
        table.device.simulated ? "made for the simulated" : "measured on", table.device.name);
    return;
  }
  if (device.simulated) return;  // no driver takes part
  const std::string driver = fmt::format("{}.{}", device.driver_version / 1000, device.driver_version % 1000 / 10);
  if (table.toolchain.driver != driver) {
    log(LogLevel::warn,
        "the table in use on {} was measured with driver {}, this one is {}: a retune with softmax-tune may help", here,
        table.toolchain.driver, driver);
  }
}

void log_too_large(const Decisions& decisions, const DeviceInfo& device) {
  const std::vector<Candidate>& all = decisions.candidates();
  const auto first = std::find_if(all.begin(), all.end(), [](const Candidate& one) { return one.max_M == 0; });
  if (first == all.end()) return;
  const auto count = std::count_if(first, all.end(), [](const Candidate& one) { return one.max_M == 0; });
  log(LogLevel::warn,
      "kernels of the table in use have more blocks wait for each other than the {} SMs of {} hold ({} of them, e.g. "
      "{}): others take their place; softmax-tune --arch {} on it makes a table of its own",
      device.sm_count, describe(device), count, to_string(first->config), device.arch);
}

}  // namespace

DecisionSource::DecisionSource(const DispatcherOptions& options, const Registry& variants,
                               std::shared_ptr<jit::Cache> cache)
    : variants_(&variants), cache_(std::move(cache)), path_(options.table) {
  if (!options.force.empty()) forced_ = parse_forced(options.force, variants);
  if (path_.empty()) return;
  table_ = read(read_file(path_), path_);
  // What the table's own architecture does not support is an error of the table, whichever device asks first.
  try {
    Decisions::from_table(*table_, Target{arch_limits(table_->device.arch), table_->device.sm_count}, variants);
  } catch (const Error& error) {
    throw_error(StatusCode::bad_table, "{}: {}", path_, error.what());
  }
}

table::Table DecisionSource::read(std::string_view text, const std::string& name) const {
  if (!cache_) return table::read(text, name, is_known_variant);
  const std::string key = snapshot_key(text);
  if (const std::optional<std::string> bytes = cache_->get(key))
    if (std::optional<table::Table> table = table::from_snapshot(*bytes)) return *std::move(table);
  table::Table table = table::read(text, name, is_known_variant);
  cache_->put(key, table::to_snapshot(table));
  return table;
}

Decisions DecisionSource::decisions(const Target& target, const DeviceInfo* device) const {
  if (!forced_.empty()) return Decisions::forced(forced_, target, *variants_);
  table::Table table = table_for(target);
  if (device) log_staleness(table, *device);
  Decisions decisions = Decisions::from_table(std::move(table), target, *variants_);
  if (device) log_too_large(decisions, *device);
  return decisions;
}

std::optional<std::string> DecisionSource::table_arch() const {
  if (!table_) return std::nullopt;
  return table_->device.arch;
}

void DecisionSource::check_arch(const std::string& arch) const {
  if (!table_ || table_->device.arch == arch) return;
  throw_error(StatusCode::bad_table,
              "{}: the table is for {}, but the device is {}: make one with softmax-tune --arch {} --out TABLE, or use "
              "no table for the built-in choice",
              path_, table_->device.arch, arch, arch);
}

table::Table DecisionSource::table_for(const Target& target) const {
  const std::string& arch = target.limits.arch;
  check_arch(arch);
  table::Table table;
  if (table_) {
    table = *table_;
  } else if (const auto text = table::shipped(arch)) {
    table = read(*text, "shipped table for " + arch);
  }
  if (table.device.arch.empty()) table.device.arch = arch;
  add_rule(table, target, *variants_);
  return table;
}

}  // namespace softmax_dispatch::runtime
