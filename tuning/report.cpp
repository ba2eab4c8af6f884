#include "tuning/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "support/config.hpp"

namespace softmax_dispatch::tuning {
namespace {

std::string config_text(const table::Table& table, const std::string& kernel_name) {
  const table::Kernel* kernel = table.find(kernel_name);
  return kernel ? to_string(kernel->config) : kernel_name;
}

std::string margin_text(const table::Threshold& threshold) {
  return threshold.margin_pct ? fmt::format("{:.1f} %", *threshold.margin_pct) : "-";
}

void add_class(std::vector<std::vector<std::string>>& rows, const table::Table& table, const table::Band& band,
               table::Alignment alignment) {
  std::int64_t from = 1;
  for (const table::Threshold& threshold : band.thresholds) {
    if (threshold.alignment != alignment) continue;
    rows.push_back({range_text("M", band.M_from, band.M_to), range_text("N", from, threshold.N_to),
                    table::to_string(alignment), config_text(table, threshold.use), margin_text(threshold),
                    threshold.runner_up.value_or("-")});
    if (threshold.N_to != table::kOpen) from = threshold.N_to + 1;
  }
}

std::string pins_text(const table::Table& table, DType dtype) {
  std::vector<std::vector<std::string>> rows{{"M", "N", "pinned to"}};
  for (const table::Pin& pin : table.pins) {
    if (pin.dtype != dtype) continue;
    rows.push_back(
        {range_text("M", pin.M_from, pin.M_to), range_text("N", pin.N_from, pin.N_to), config_text(table, pin.use)});
  }
  if (rows.size() == 1) return {};
  return "Pins come before the thresholds; the first that holds a shape decides.\n\n" + aligned_table(rows) + "\n";
}

}  // namespace

std::string range_text(const char* name, std::int64_t from, std::int64_t to) {
  if (from == to) return fmt::format("{} = {}", name, from);
  if (to == table::kOpen) return from <= 1 ? fmt::format("any {}", name) : fmt::format("{} >= {}", name, from);
  return from <= 1 ? fmt::format("{} <= {}", name, to) : fmt::format("{} <= {} <= {}", from, name, to);
}

std::string aligned_table(const std::vector<std::vector<std::string>>& rows, const std::vector<std::size_t>& right) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 3);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const auto to_the_right = [&](std::size_t column) {
    return std::find(right.begin(), right.end(), column) != right.end();
  };
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string cell = i < row.size() ? row[i] : "";
      text += to_the_right(i) ? fmt::format("| {:>{}} ", cell, widths[i]) : fmt::format("| {:<{}} ", cell, widths[i]);
    }
    text += "|\n";
    if (&row != &rows.front()) continue;
    for (std::size_t i = 0; i < widths.size(); ++i)
      text += fmt::format("|{}{}", std::string(widths[i] + 1, '-'), to_the_right(i) ? ':' : '-');
    text += "|\n";
  }
  return text;
}

std::string thresholds_text(const table::Table& table) {
  std::string text;
  for (const table::OpTable& op : table.tables) {
    text += fmt::format("### {} {} on {}{} ({}{})\n\n", to_string(op.dtype), op.op,
                        table.device.simulated ? "the simulated " : "", table.device.name, table.device.arch,
                        table.device.simulated ? "" : ", measured");
    if (table.device.simulated) text += "Nothing was measured: the times behind these thresholds are a model's.\n\n";
    if (table.sweep.partial)
      text += "The sweep was cut short: these thresholds rest on what had been measured by then.\n\n";
    if (op.regret_geomean && op.regret_worst)
      text += fmt::format("Regret over the swept shapes of {}: geometric mean {:.4f}, worst {:.4f}.\n\n",
                          to_string(op.dtype), *op.regret_geomean, *op.regret_worst);
    text += pins_text(table, op.dtype);
    std::vector<std::vector<std::string>> rows{{"M", "N", "rows", "use", "margin", "runner-up"}};
    for (const table::Band& band : op.bands)
      for (const auto alignment : {table::Alignment::any, table::Alignment::aligned, table::Alignment::unaligned})
        add_class(rows, table, band, alignment);
    text += aligned_table(rows, {4});
    text +=
        "\nM rows of N elements. Rows are aligned where each of x and y starts at a multiple of 16 bytes, else "
        "unaligned."
        "\nThe margin is how much slower the runner-up is.\n\n";
  }
  return text;
}

}  // namespace softmax_dispatch::tuning
