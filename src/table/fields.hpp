#pragma once

#include "table/table.hpp"

/// The keys of the file, each once: for every record its keys in their order, with the members that hold the values.
/// The reader and the writer both walk these lists; `visit(key, member)` is called for each.
namespace softmax_dispatch::table {

struct Schema {};  ///< The number kSchema.

/// A bool in the words `measured` and `simulated`.
struct Kind {
  bool& simulated;
};

/// Text that is always in quotes: only some hashes look like a number.
struct Hash {
  std::string& text;
};

/// A bound on M or N: an integer of 1 or more, or `open`.
struct Bound {
  std::int64_t& value;
};

/// `[from, to]`, inclusive; `to` may be open.
struct Range {
  std::int64_t& from;
  std::int64_t& to;
};

/// A list whose key is absent where it is empty.
template <typename T>
struct MayBeAbsent {
  std::vector<T>& items;
};

/// A map whose key is absent where both members are.
struct Quality {
  std::optional<double>& regret_geomean;
  std::optional<double>& regret_worst;
};

template <typename Visitor>
void fields(Visitor& visit, DeviceRecord& device) {
  visit("kind", Kind{device.simulated});
  visit("name", device.name);
  visit("arch", device.arch);
  visit("sm_count", device.sm_count);
  visit("l2_bytes", device.l2_bytes);
  visit("memory_bus_bits", device.memory_bus_bits);
}

template <typename Visitor>
void fields(Visitor& visit, ToolchainRecord& toolchain) {
  visit("nvrtc", toolchain.nvrtc);
  visit("flags", toolchain.flags);
  visit("driver", toolchain.driver);
}

template <typename Visitor>
void fields(Visitor& visit, SweepRecord& sweep) {
  visit("effort", sweep.effort);
  visit("protocol", sweep.protocol);
  visit("buffers", sweep.buffers);
  visit("seed", sweep.seed);
  visit("M", sweep.M);
  visit("N", sweep.N);
  visit("configs", sweep.configs);
  visit("measurements", sweep.measurements);
  visit("duration_s", sweep.duration_s);
  visit("partial", sweep.partial);
}

template <typename Visitor>
void fields(Visitor& visit, Quality& quality) {
  visit("regret_geomean", quality.regret_geomean);
  visit("regret_worst", quality.regret_worst);
}

template <typename Visitor>
void fields(Visitor& visit, ResourceRecord& resources) {
  visit("registers", resources.registers);
  visit("stack_bytes", resources.stack_bytes);
  visit("spill_store_bytes", resources.spill_store_bytes);
  visit("spill_load_bytes", resources.spill_load_bytes);
  visit("shared_bytes", resources.shared_bytes);
}

template <typename Visitor>
void fields(Visitor& visit, VerificationRecord& verification) {
  visit("device", verification.device);
  visit("kind", Kind{verification.simulated});
  visit("suite", verification.suite);
  visit("cases", verification.cases);
  visit("N_to", Bound{verification.N_to});
  visit("worst_error", verification.worst_error);
}

template <typename Visitor>
void fields(Visitor& visit, Kernel& kernel) {
  visit("name", kernel.name);
  visit("dtype", kernel.config.dtype);
  visit("variant", kernel.config.variant);
  visit("constants", kernel.config.constants);
  visit("source_hash", Hash{kernel.source_hash});
  visit("code_hash", Hash{kernel.code_hash});
  visit("resources", kernel.resources);
  visit("verification", kernel.verification);
}

template <typename Visitor>
void fields(Visitor& visit, Pin& pin) {
  visit("dtype", pin.dtype);
  visit("M", Range{pin.M_from, pin.M_to});
  visit("N", Range{pin.N_from, pin.N_to});
  visit("use", pin.use);
}

template <typename Visitor>
void fields(Visitor& visit, Threshold& threshold) {
  visit("N_to", Bound{threshold.N_to});
  visit("use", threshold.use);
  visit("alignment", threshold.alignment);
  visit("crossover_N", threshold.crossover_N);
  visit("margin_pct", threshold.margin_pct);
  visit("runner_up", threshold.runner_up);
}

template <typename Visitor>
void fields(Visitor& visit, Band& band) {
  visit("M", Range{band.M_from, band.M_to});
  visit("thresholds", band.thresholds);
}

template <typename Visitor>
void fields(Visitor& visit, OpTable& table) {
  visit("dtype", table.dtype);
  visit("op", table.op);
  visit("regret_geomean", table.regret_geomean);
  visit("regret_worst", table.regret_worst);
  visit("bands", table.bands);
}

template <typename Visitor>
void fields(Visitor& visit, Table& table) {
  visit("schema", Schema{});
  visit("library", table.library_version);
  visit("device", table.device);
  visit("toolchain", table.toolchain);
  visit("sweep", table.sweep);
  visit("quality", Quality{table.regret_geomean, table.regret_worst});
  visit("kernels", table.kernels);
  visit("pins", MayBeAbsent<Pin>{table.pins});
  visit("tables", table.tables);
}

/// Last line of every table. A file that was cut short lacks it, wherever it was cut.
inline constexpr std::string_view kEnd = "...";

}  // namespace softmax_dispatch::table
