#include <fmt/core.h>

#include <map>
#include <string>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/console.hpp"
#include "cli/interrupt.hpp"
#include "cli/machine.hpp"
#include "cli/tables.hpp"
#include "support/error.hpp"
#include "tuning/report.hpp"
#include "tuning/tuner.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::cli {
namespace {

/// The table that --out holds already, whose pins survive. A file that is anything else is not replaced.
std::optional<table::Table> table_to_replace(const TuneOptions& options) {
  const auto text = read_file_if_exists(options.out);
  if (!text) return {};
  std::optional<table::Table> table;
  const Status status = guarded([&] { table = parse_table(*text, options.out); });
  if (!status.ok()) {
    throw_error(StatusCode::bad_table,
                "--out {} exists and is no valid table, so it is left as it is: move it away or name another file ({})",
                options.out.string(), status.message());
  }
  if (table->device.arch != options.arch) {
    throw_error(StatusCode::bad_table,
                "--out {} holds the table of a GPU of architecture {}, not {}, so it is left as it is: move it away or "
                "name another file",
                options.out.string(), table->device.arch, options.arch);
  }
  return table;
}

/// A reason may quote a compiler's log; the whole of it is in the journal.
std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 120;
  return text.size() <= kMost ? text : text.substr(0, kMost) + " ...";
}

/// One line per variant and stage: a sweep may reject hundreds of configurations for the same reason.
std::string rejected_text(const std::vector<tuning::Rejected>& rejected) {
  if (rejected.empty()) return "";
  struct Group {
    std::size_t count = 0;
    const tuning::Rejected* first = nullptr;
  };
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const tuning::Rejected& candidate : rejected) {
    Group& group = groups[{candidate.config.variant, candidate.stage}];
    if (group.count++ == 0) group.first = &candidate;
  }
  TextTable table({"rejected", "stage", "configurations", "for example", "reason"});
  for (const auto& [key, group] : groups) {
    table.add({key.first, key.second, std::to_string(group.count), to_string(group.first->config.constants),
               shortened(group.first->reason)});
  }
  return table.text() + "\n";
}

std::string report_text(const tuning::TuneResult& result, const TuneOptions& options) {
  return tuning::thresholds_text(result.table) + rejected_text(result.rejected) + origin_text(result.table) +
         fmt::format("table: {}\njournal: {}\n", options.out.string(), journal_of(options.out).string());
}

}  // namespace

int run(const TuneOptions& options) {
  check_writable(options.out);
  check_writable(journal_of(options.out));
  auto previous = table_to_replace(options);
  const DeviceInfo device = choose_device(options.device, options.arch);
  announce_simulated(device, options.device, "tuning for");

  const RunCache cache;
  const InterruptGuard interrupt;
  tuning::TuneOptions tune;
  tune.arch = options.arch;
  tune.device = device.ordinal;
  tune.simulated = device.simulated;
  tune.sweep = options.sweep;
  tune.dtypes = options.dtypes;
  tune.seed = options.seed;
  tune.budget_s = options.budget_s;
  tune.protocol = options.protocol;
  tune.journal = journal_of(options.out);
  tune.previous = std::move(previous);
  tune.worker = worker_command();
  tune.cache = cache.path();
  tune.interrupted = &interrupt.flag();
  tuning::TuneResult result;
  {
    ProgressLine line(options.quiet);
    tune.progress = [&](const tuning::Progress& progress) { line.update(progress); };
    result = tuning::tune(tune, registry(), jit::Sources::product());
  }
  const std::string text = table::write(result.table);
  parse_table(text, options.out);  // what the dispatcher would refuse must not replace a table
  write_file_atomically(options.out, text);
  print(report_text(result, options));
  return result.table.sweep.partial ? kPartial : kDone;
}

}  // namespace softmax_dispatch::cli
