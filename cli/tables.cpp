#include "cli/tables.hpp"

#include <fmt/core.h>

#include "support/files.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::cli {

table::Table load_table(const std::filesystem::path& path) {
  return parse_table(read_file(path), path);
}

table::Table parse_table(std::string_view text, const std::filesystem::path& path) {
  return table::read(text, path.string(), [](std::string_view id) { return registry().find(id) != nullptr; });
}

std::filesystem::path journal_of(const std::filesystem::path& table) {
  std::filesystem::path path = table;
  return path += ".journal.jsonl";
}

std::string origin_text(const table::Table& table) {
  const table::SweepRecord& sweep = table.sweep;
  const std::string on = fmt::format("{} ({}, {} SMs) with NVRTC {}", table.device.name, table.device.arch,
                                     table.device.sm_count, table.toolchain.nvrtc);
  std::string text = table.device.simulated
                         ? fmt::format("simulated, not measured: the times are a model's of {}\n", on)
                         : fmt::format("measured on {} and driver {}\n", on, table.toolchain.driver);
  text += fmt::format("sweep {}, protocol {}, {} buffers, seed {}: {} configurations, {} {} in {:.1f} s{}\n",
                      sweep.effort, sweep.protocol, sweep.buffers, sweep.seed, sweep.configs, sweep.measurements,
                      table.device.simulated ? "modelled times" : "measurements", sweep.duration_s,
                      sweep.partial ? "; partial: it was not completed" : "");
  if (table.regret_geomean && table.regret_worst) {
    text += fmt::format("{}regret over the swept shapes: geometric mean {:.4f}, worst {:.4f}\n",
                        table.device.simulated ? "modelled " : "", *table.regret_geomean, *table.regret_worst);
  }
  return text;
}

}  // namespace softmax_dispatch::cli
