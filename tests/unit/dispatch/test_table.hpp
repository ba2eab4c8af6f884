#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "support/files.hpp"
#include "table/table.hpp"
#include "unit/dispatch/fake_backend.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::testing {

/// (longest row served, configuration) for each threshold of the one band of a table.
using Thresholds = std::vector<std::pair<std::int64_t, std::string>>;

/// A table whose records match what FakeBackend compiles, as if it had been tuned on the fake GPU 0.
inline table::Table make_table(const Thresholds& thresholds, const std::string& arch = "sm_90") {
  table::Table table;
  table.library_version = "0.1.0";
  table.device = {.name = "fake GPU 0", .arch = arch, .sm_count = 8, .l2_bytes = 1 << 20, .memory_bus_bits = 256};
  table.toolchain = {.nvrtc = "13.0.88", .flags = {"--std=c++17"}, .driver = "13.0"};
  table.sweep = {.effort = "quick",
                 .protocol = "graph",
                 .buffers = "cold",
                 .seed = 42,
                 .M = {1},
                 .N = {1},
                 .configs = 1,
                 .measurements = 1,
                 .duration_s = 1};
  table::Band band;
  for (const auto& [N_to, text] : thresholds) {
    const Config config = parse_config(text);
    const std::string name = table::kernel_name(config);
    if (!table.find(name)) {
      table::Kernel kernel;
      kernel.name = name;
      kernel.config = config;
      kernel.source_hash = "source";
      const Variant& variant = registry().at(config.variant);
      kernel.code_hash = FakeBackend::code_hash(config.variant, variant.macros(config.dtype, config.constants));
      kernel.resources.registers = 32;
      table::VerificationRecord& record = kernel.verification.emplace();
      record.device = "fake GPU 0";
      record.suite = verify::kSuite;
      record.cases = 100;
      record.N_to = variant.accurate_N(config.dtype, config.constants);
      table.kernels.push_back(kernel);
    }
    table::Threshold threshold;
    threshold.N_to = N_to;
    threshold.use = name;
    band.thresholds.push_back(threshold);
  }
  table::OpTable op;
  op.bands.push_back(band);
  table.tables.push_back(op);
  return table;
}

/// A table in a file of its own, as long as it lives.
class TableFile {
 public:
  explicit TableFile(const table::Table& table) : TableFile(table::write(table)) {}
  explicit TableFile(const std::string& text) { write_file_atomically(path(), text); }
  std::string path() const { return (folder_.path() / "table.yaml").string(); }

 private:
  TemporaryDirectory folder_;
};

}  // namespace softmax_dispatch::testing
