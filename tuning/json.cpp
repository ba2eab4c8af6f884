#include "tuning/json.hpp"

#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <vector>

#include "support/error.hpp"
#include "tuning/journal.hpp"
#include "tuning/worker.hpp"

namespace softmax_dispatch::tuning {

using nlohmann::json;

namespace {

/// T or const T: fields() serves both directions.
template <typename T, typename Plain>
concept Like = std::same_as<std::remove_const_t<T>, Plain>;

template <typename Visit>
void fields(Visit&& visit, Like<jit::Resources> auto& resources) {
  visit("registers", resources.registers);
  visit("stack_bytes", resources.stack_bytes);
  visit("spill_store_bytes", resources.spill_store_bytes);
  visit("spill_load_bytes", resources.spill_load_bytes);
  visit("shared_bytes", resources.shared_bytes);
}

template <typename Visit>
void fields(Visit&& visit, Like<verify::Outcome> auto& outcome) {
  visit("passed", outcome.passed);
  visit("reason", outcome.reason);
  visit("cases", outcome.cases);
  visit("N_to", outcome.N_to);
  visit("worst_error", outcome.worst_error);
}

template <typename Visit>
void fields(Visit&& visit, Like<Timing> auto& timing) {
  visit("median_us", timing.median_us);
  visit("low_us", timing.low_us);
  visit("high_us", timing.high_us);
  visit("samples", timing.samples);
}

template <typename Visit>
void fields(Visit&& visit, Like<TimingPlan> auto& plan) {
  visit("protocol", plan.protocol);
  visit("replays", plan.replays);
  visit("seed", plan.seed);
  visit("max_launches", plan.max_launches);
  visit("race_factor", plan.race_factor);
}

template <typename Visit>
void fields(Visit&& visit, Like<CompileResult> auto& result) {
  visit("code_hash", result.code_hash);
  visit("source_hash", result.source_hash);
  visit("resources", result.resources);
  visit("compile_s", result.compile_s);
  visit("error", result.error);
}

template <typename Visit>
void fields(Visit&& visit, Like<TimeResult> auto& result) {
  visit("samples_us", result.samples_us);
  visit("error", result.error);
}

template <typename Visit>
void fields(Visit&& visit, Like<ArchLimits> auto& limits) {
  visit("arch", limits.arch);
  visit("major", limits.major);
  visit("minor", limits.minor);
  visit("max_threads_per_block", limits.max_threads_per_block);
  visit("max_threads_per_sm", limits.max_threads_per_sm);
  visit("max_blocks_per_sm", limits.max_blocks_per_sm);
  visit("registers_per_sm", limits.registers_per_sm);
  visit("max_registers_per_thread", limits.max_registers_per_thread);
  visit("shared_bytes_per_sm", limits.shared_bytes_per_sm);
  visit("shared_bytes_per_block", limits.shared_bytes_per_block);
  visit("shared_bytes_per_block_optin", limits.shared_bytes_per_block_optin);
}

template <typename Visit>
void fields(Visit&& visit, Like<DeviceInfo> auto& info) {
  visit("name", info.name);
  visit("arch", info.arch);
  visit("ordinal", info.ordinal);
  visit("sm_count", info.sm_count);
  visit("l2_bytes", info.l2_bytes);
  visit("memory_bytes", info.memory_bytes);
  visit("memory_bus_bits", info.memory_bus_bits);
  visit("sm_clock_khz", info.sm_clock_khz);
  visit("memory_clock_khz", info.memory_clock_khz);
  visit("driver_version", info.driver_version);
  visit("simulated", info.simulated);
  visit("limits", info.limits);
}

template <typename Visit>
void fields(Visit&& visit, Like<table::DeviceRecord> auto& device) {
  visit("name", device.name);
  visit("arch", device.arch);
  visit("sm_count", device.sm_count);
  visit("l2_bytes", device.l2_bytes);
  visit("memory_bus_bits", device.memory_bus_bits);
  visit("simulated", device.simulated);
}

template <typename Visit>
void fields(Visit&& visit, Like<table::ToolchainRecord> auto& toolchain) {
  visit("nvrtc", toolchain.nvrtc);
  visit("flags", toolchain.flags);
  visit("driver", toolchain.driver);
}

/// Without what is known at the end only: the number of measurements, the duration, whether it is partial.
template <typename Visit>
void fields(Visit&& visit, Like<table::SweepRecord> auto& sweep) {
  visit("effort", sweep.effort);
  visit("protocol", sweep.protocol);
  visit("buffers", sweep.buffers);
  visit("seed", sweep.seed);
  visit("M", sweep.M);
  visit("N", sweep.N);
  visit("configs", sweep.configs);
}

template <typename Visit>
void fields(Visit&& visit, Like<RunEvent> auto& event) {
  visit("library_version", event.library_version);
  visit("device", event.device);
  visit("toolchain", event.toolchain);
  visit("sweep", event.sweep);
}

template <typename Visit>
void fields(Visit&& visit, Like<CompileEvent> auto& event) {
  visit("config", event.config);
  visit("source_hash", event.source_hash);
  visit("code_hash", event.code_hash);
  visit("resources", event.resources);
  visit("error", event.error);
}

template <typename Visit>
void fields(Visit&& visit, Like<VerifyEvent> auto& event) {
  visit("config", event.config);
  visit("code_hash", event.code_hash);
  visit("outcome", event.outcome);
}

template <typename Visit>
void fields(Visit&& visit, Like<MeasureEvent> auto& event) {
  visit("config", event.config);
  visit("problem", event.problem);
  visit("timing", event.timing);
  visit("final", event.final);
}

template <typename Visit>
void fields(Visit&& visit, Like<QuarantineEvent> auto& event) {
  visit("config", event.config);
  visit("stage", event.stage);
  visit("reason", event.reason);
}

template <typename Visit>
void fields(Visit&& visit, Like<EndEvent> auto& event) {
  visit("duration_s", event.duration_s);
  visit("partial", event.partial);
}

template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = true;

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <typename T>
concept HasFields = requires(T& value) {
  fields([](const char*, auto&) {}, value);
};

template <typename T>
json value_to_json(const T& value) {
  if constexpr (HasFields<const T>) {
    json object = json::object();
    fields([&](const char* name, const auto& field) { object[name] = value_to_json(field); }, value);
    return object;
  } else if constexpr (kIsList<T>) {
    json list = json::array();
    for (const auto& item : value) list.push_back(value_to_json(item));
    return list;
  } else if constexpr (kIsOptional<T>) {
    return value ? json(*value) : json(nullptr);
  } else if constexpr (std::same_as<T, Config> || std::same_as<T, Problem> || std::same_as<T, Protocol>) {
    return to_string(value);
  } else if constexpr (std::same_as<T, verify::Depth>) {
    return value == verify::Depth::full ? "full" : "brief";
  } else {
    return value;
  }
}

template <typename T>
void json_to_value(const json& source, T& value) {
  if constexpr (HasFields<T>) {
    fields([&](const char* name, auto& field) { json_to_value(source.at(name), field); }, value);
  } else if constexpr (kIsList<T>) {
    for (const json& item : source) json_to_value(item, value.emplace_back());
  } else if constexpr (kIsOptional<T>) {
    if (!source.is_null()) value = source.get<typename T::value_type>();
  } else if constexpr (std::same_as<T, Config>) {
    value = parse_config(source.get<std::string>());
  } else if constexpr (std::same_as<T, Problem>) {
    check(parse_problem(source.get<std::string>(), value));
  } else if constexpr (std::same_as<T, Protocol>) {
    value = parse_protocol(source.get<std::string>());
  } else if constexpr (std::same_as<T, verify::Depth>) {
    value = source.get<std::string>() == "full" ? verify::Depth::full : verify::Depth::brief;
  } else if constexpr (std::same_as<T, double>) {
    // JSON has no infinity; it is written as null.
    value = source.is_null() ? std::numeric_limits<double>::infinity() : source.get<double>();
  } else {
    source.get_to(value);
  }
}

}  // namespace

std::string to_line(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

template <typename T>
json encode(const T& value) {
  return value_to_json(value);
}

template <typename T>
T decode(const json& source) {
  T value{};
  json_to_value(source, value);
  return value;
}

#define SOFTMAX_DISPATCH_JSON(T)     \
  template json encode<T>(const T&); \
  template T decode<T>(const json&);
SOFTMAX_DISPATCH_JSON(RunEvent)
SOFTMAX_DISPATCH_JSON(CompileEvent)
SOFTMAX_DISPATCH_JSON(VerifyEvent)
SOFTMAX_DISPATCH_JSON(MeasureEvent)
SOFTMAX_DISPATCH_JSON(QuarantineEvent)
SOFTMAX_DISPATCH_JSON(EndEvent)
SOFTMAX_DISPATCH_JSON(Config)
SOFTMAX_DISPATCH_JSON(Problem)
SOFTMAX_DISPATCH_JSON(verify::Depth)
SOFTMAX_DISPATCH_JSON(TimingPlan)
SOFTMAX_DISPATCH_JSON(DeviceInfo)
SOFTMAX_DISPATCH_JSON(verify::Outcome)
SOFTMAX_DISPATCH_JSON(CompileResult)
SOFTMAX_DISPATCH_JSON(TimeResult)
SOFTMAX_DISPATCH_JSON(double)
SOFTMAX_DISPATCH_JSON(std::string)
SOFTMAX_DISPATCH_JSON(std::vector<Config>)
SOFTMAX_DISPATCH_JSON(std::vector<TimeResult>)
#undef SOFTMAX_DISPATCH_JSON

}  // namespace softmax_dispatch::tuning
