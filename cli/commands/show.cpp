#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/console.hpp"
#include "cli/json.hpp"
#include "cli/tables.hpp"
#include "tuning/report.hpp"

namespace softmax_dispatch::cli {
namespace {

std::string kernels_text(const table::Table& table) {
  TextTable text({"kernel", "configuration", "registers", "stack", "shared", "verified on", "cases", "worst error"});
  for (const table::Kernel& kernel : table.kernels) {
    const table::ResourceRecord& resources = kernel.resources;
    std::vector<std::string> row{kernel.name, to_string(kernel.config), std::to_string(resources.registers),
                                 std::to_string(resources.stack_bytes), std::to_string(resources.shared_bytes)};
    if (const auto& record = kernel.verification) {
      row.insert(row.end(), {record->device + (record->simulated ? " (simulated)" : ""), std::to_string(record->cases),
                             fmt::format("{:.3f}", record->worst_error)});
    } else {
      row.insert(row.end(), {"not yet: at its first use", "", ""});
    }
    text.add(std::move(row));
  }
  return text.text();
}

}  // namespace

int run(const ShowOptions& options) {
  const table::Table table = load_table(options.table);
  if (options.json) {
    print_json(json_of(table));
  } else {
    print(tuning::thresholds_text(table) + kernels_text(table) + "\n" + origin_text(table));
  }
  return kDone;
}

}  // namespace softmax_dispatch::cli
