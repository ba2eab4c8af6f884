#pragma once

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "table/table.hpp"

namespace softmax_dispatch::table {

inline bool known_variant(std::string_view id) {
  return id == "v3" || id == "v7" || id == "v9";
}

inline Kernel sample_kernel(const Config& config, std::int64_t verified_to) {
  Kernel kernel;
  kernel.name = kernel_name(config);
  kernel.config = config;
  kernel.source_hash = "0123456789abcdef0123456789abcdef";
  kernel.code_hash = "fedcba9876543210fedcba9876543210";
  kernel.resources = {41, 0, 0, 0, 256};
  kernel.verification = VerificationRecord{"NVIDIA H200", false, 1, 912, verified_to, 0.3125};
  return kernel;
}

/// Holds every key, each optional one somewhere present and somewhere absent.
inline Table sample_table() {
  Table table;
  table.library_version = "0.1.0";
  table.device = {"NVIDIA H200", "sm_90", 132, 62914560, 6144, false};
  table.toolchain = {"13.0.88", {"--std=c++17", "-DX=1"}, "13.0"};
  table.sweep = {"quick", "graph", "cold", 42, {1, 64, 4096}, {257, 1024}, 96, 576, 57.25, false};
  table.regret_geomean = 1.004;
  table.regret_worst = 1.03;
  table.kernels = {sample_kernel({"v3", {{"ITEMS", 4}, {"THREADS", 256}}}, 1024),
                   sample_kernel({"v7", {{"THREADS", 256}, {"VEC_ITEMS", 4}}}, 4099),
                   sample_kernel({"v9", {{"GRID", 264}, {"THREADS", 256}, {"VEC_ITEMS", 4}}}, kOpen)};
  table.kernels[2].verification.reset();
  table.pins = {{DType::f32, 8, 8, 100, 200, "v7_t256_vi4"}};
  Band few;
  few.M_to = 39;
  few.thresholds = {{1024, Alignment::any, "v3_i4_t256", {{1024, 1025}}, 3.1, "v7 THREADS=256 VEC_ITEMS=4"},
                    {kOpen, Alignment::any, "v9_g264_t256_vi4", {}, {}, {}}};
  Band many;
  many.M_from = 40;
  many.thresholds = {{4096, Alignment::aligned, "v7_t256_vi4", {{4096, 8192}}, 12.5, {}},
                     {kOpen, Alignment::aligned, "v9_g264_t256_vi4", {}, {}, {}},
                     {kOpen, Alignment::unaligned, "v9_g264_t256_vi4", {}, {}, {}}};
  table.tables = {{DType::f32, "softmax", {few, many}}};
  return table;
}

/// A random table that validate() accepts.
class RandomTables {
 public:
  explicit RandomTables(std::uint64_t seed) : random_(seed) {}

  Table next() {
    Table table = sample_table();
    table.device.simulated = chance(2);
    table.sweep.partial = chance(2);
    table.sweep.duration_s = std::uniform_real_distribution<double>(0, 1e4)(random_);
    if (chance(2)) table.regret_geomean.reset();
    if (chance(2)) table.regret_worst.reset();
    table.pins.clear();
    table.kernels.clear();
    table.tables.clear();
    for (const DType dtype : {DType::f32, DType::bf16}) {
      add_kernels(table, dtype);
      if (dtype == DType::f32 || chance(2)) table.tables.push_back({dtype, "softmax", bands(table, dtype)});
      for (auto pins = number(0, 3); pins > 0; --pins) table.pins.push_back(pin(table, dtype));
    }
    return table;
  }

  /// Mostly near the bounds that tables have.
  std::int64_t size() { return chance(20) ? number(0, kOpen) : chance(2) ? number(0, 40) : number(0, 1 << 20); }
  bool chance(int one_in) { return number(1, one_in) == 1; }

 private:
  std::int64_t number(std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random_);
  }

  void add_kernels(Table& table, DType dtype) {
    const std::int64_t count = number(1, 6);
    for (std::int64_t i = 0; i < count; ++i) {
      // The first of a type is verified for any row, so that every threshold finds a kernel.
      Kernel kernel = sample_kernel({chance(2) ? "v7" : "v3", {{"THREADS", 32 * (i + 1)}}, dtype},
                                    i == 0 || chance(2) ? kOpen : number(1, 1 << 14));
      if (chance(4)) kernel.verification.reset();
      table.kernels.push_back(kernel);
    }
  }

  std::string kernel_for(const Table& table, DType dtype, std::int64_t N_to) {
    std::vector<std::string> fit;
    for (const Kernel& kernel : table.kernels) {
      if (kernel.config.dtype == dtype && (!kernel.verification || kernel.verification->N_to >= N_to))
        fit.push_back(kernel.name);
    }
    return fit.at(static_cast<std::size_t>(number(0, static_cast<std::int64_t>(fit.size()) - 1)));
  }

  /// Ascending, the last one open.
  std::vector<std::int64_t> bounds() {
    std::set<std::int64_t> values{kOpen};
    for (auto count = number(0, 6); count > 0; --count) values.insert(chance(2) ? number(1, 40) : number(1, 1 << 20));
    return {values.begin(), values.end()};
  }

  std::vector<Band> bands(const Table& table, DType dtype) {
    std::vector<Band> made;
    std::int64_t from = 1;
    for (const std::int64_t M_to : bounds()) {
      Band& band = made.emplace_back();
      band.M_from = from;
      band.M_to = M_to;
      from = M_to == kOpen ? M_to : M_to + 1;
      if (chance(2)) {
        add_thresholds(band, table, dtype, Alignment::any);
        continue;
      }
      add_thresholds(band, table, dtype, Alignment::aligned);
      add_thresholds(band, table, dtype, Alignment::unaligned);
      if (chance(2)) {
        std::stable_sort(band.thresholds.begin(), band.thresholds.end(),
                         [](const Threshold& a, const Threshold& b) { return a.N_to < b.N_to; });
      }
    }
    return made;
  }

  void add_thresholds(Band& band, const Table& table, DType dtype, Alignment alignment) {
    for (const std::int64_t N_to : bounds()) {
      Threshold& threshold = band.thresholds.emplace_back();
      threshold.N_to = N_to;
      threshold.alignment = alignment;
      threshold.use = kernel_for(table, dtype, N_to);
      if (N_to != kOpen) threshold.crossover_N = {N_to, N_to + 1};
      if (chance(2)) threshold.margin_pct = std::uniform_real_distribution<double>(-1, 50)(random_);
      if (chance(2)) threshold.runner_up = "v3 ITEMS=4 THREADS=256";
    }
  }

  Pin pin(const Table& table, DType dtype) {
    Pin made;
    made.dtype = dtype;
    made.M_from = number(1, 40);
    made.M_to = chance(2) ? kOpen : made.M_from + number(0, 40);
    made.N_from = number(1, 40);
    made.N_to = chance(2) ? kOpen : made.N_from + number(0, 4096);
    made.use = kernel_for(table, dtype, made.N_to);
    return made;
  }

  std::mt19937_64 random_;
};

}  // namespace softmax_dispatch::table
