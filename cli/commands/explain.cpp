#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/console.hpp"
#include "cli/json.hpp"
#include "cli/tables.hpp"
#include "support/error.hpp"
#include "support/log.hpp"
#include "tuning/journal.hpp"
#include "tuning/report.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::cli {
namespace {

struct Candidate {
  Config config;
  std::optional<double> time_us;
  std::string skipped;  ///< Why there is no time.
};

std::string reason_text(const table::Choice& choice) {
  if (const table::Pin* pin = choice.pin) {
    return fmt::format("pinned for {}, {}", tuning::range_text("M", pin->M_from, pin->M_to),
                       tuning::range_text("N", pin->N_from, pin->N_to));
  }
  const table::Threshold& threshold = *choice.threshold;
  std::int64_t N_from = 1;
  for (const table::Threshold& lower : choice.band->thresholds) {
    if (lower.alignment == threshold.alignment && lower.N_to < threshold.N_to) N_from = lower.N_to + 1;
  }
  std::string text = fmt::format("for {}, {}, {} rows", tuning::range_text("M", choice.band->M_from, choice.band->M_to),
                                 tuning::range_text("N", N_from, threshold.N_to), to_string(threshold.alignment));
  if (threshold.crossover_N) {
    text += fmt::format("; the winner changes between N = {} and {}", threshold.crossover_N->first,
                        threshold.crossover_N->second);
  }
  if (threshold.runner_up) {
    text += "; next comes " + *threshold.runner_up;
    if (threshold.margin_pct) text += fmt::format(", {:.1f} % slower over this range", *threshold.margin_pct);
  }
  return text;
}

/// The journal beside the table; none where there is none that is the table's own.
std::optional<tuning::Journal> journal_beside(const std::filesystem::path& path, const table::Table& table) {
  if (!std::filesystem::exists(journal_of(path))) return {};
  try {
    tuning::Journal journal = tuning::read_journal(journal_of(path));
    const tuning::RunEvent& run = journal.run.value();
    if (run.device.name == table.device.name && run.device.arch == table.device.arch &&
        run.toolchain.nvrtc == table.toolchain.nvrtc) {
      return journal;
    }
  } catch (const Error& error) {
    log(LogLevel::warn, "no measured times: {}", error.what());
  }
  return {};
}

/// Times at the problem's shape by configuration. A finalist's time stands before the one it was screened with.
std::map<Config, double> measured_times(const std::optional<tuning::Journal>& journal, const Problem& problem) {
  std::map<Config, double> times;
  if (!journal) return times;
  for (const bool final : {false, true}) {
    for (const tuning::MeasureEvent& event : journal->measurements) {
      if (event.problem == problem && event.final == final) times[event.config] = event.timing.median_us;
    }
  }
  return times;
}

/// Why the configuration cannot be chosen for the problem; "" where it can.
std::string why_not(const Variant& variant, const Problem& problem, const Constants& constants, const Target& target) {
  if (const Support support = variant.supports(problem, constants, target); !support) return support.reason;
  if (const std::int64_t most = variant.accurate_N(problem.dtype, constants); problem.N > most) {
    return fmt::format("meets the accuracy rule up to N = {} only", most);
  }
  return variant.selectable() ? "" : "a control, never chosen";
}

Candidate of_kernel(const table::Kernel& kernel, const Problem& problem, const Target& target,
                    const std::map<Config, double>& times) {
  Candidate candidate{kernel.config, {}, {}};
  const Variant& variant = registry().at(kernel.config.variant);
  candidate.skipped = why_not(variant, problem, kernel.config.constants, target);
  if (!candidate.skipped.empty()) return candidate;
  if (const auto time = times.find(kernel.config); time != times.end()) {
    candidate.time_us = time->second;
  } else {
    candidate.skipped = "not measured at this shape";
  }
  return candidate;
}

/// A variant of which the table has no kernel: its fastest measured configuration, else the least one that would serve.
Candidate of_variant(const Variant& variant, const Problem& problem, const Target& target,
                     const std::map<Config, double>& times) {
  Candidate candidate{{std::string(variant.id()), {}, problem.dtype}, {}, {}};
  for (const auto& [config, time_us] : times) {
    if (config.variant != variant.id() || (candidate.time_us && *candidate.time_us <= time_us)) continue;
    candidate.config = config;
    candidate.time_us = time_us;
  }
  if (candidate.time_us) return candidate;
  try {
    candidate.config.constants = variant.complete(problem, {}, target);
    candidate.skipped = why_not(variant, problem, candidate.config.constants, target);
    if (candidate.skipped.empty()) candidate.skipped = "not in the table";
  } catch (const Error& error) {
    candidate.skipped = error.what();
  }
  return candidate;
}

std::vector<Candidate> candidates_of(const table::Table& table, const ExplainOptions& options) {
  const Target target{arch_limits(table.device.arch), table.device.sm_count};
  const auto times = measured_times(journal_beside(options.table, table), options.problem);
  std::vector<Candidate> candidates;
  for (const table::Kernel& kernel : table.kernels) {
    if (kernel.config.dtype == options.problem.dtype)
      candidates.push_back(of_kernel(kernel, options.problem, target, times));
  }
  for (const Variant* variant : registry().all()) {
    const auto same = [&](const table::Kernel& kernel) {
      return kernel.config.variant == variant->id() && kernel.config.dtype == options.problem.dtype;
    };
    if (std::ranges::none_of(table.kernels, same)) {
      candidates.push_back(of_variant(*variant, options.problem, target, times));
    }
  }
  std::ranges::stable_sort(candidates, {}, [](const Candidate& candidate) {
    return candidate.time_us.value_or(std::numeric_limits<double>::infinity());
  });
  return candidates;
}

Json json_of_candidate(const Candidate& candidate) {
  Json json = json_of(candidate.config);
  if (candidate.time_us) {
    json["time_us"] = *candidate.time_us;
  } else {
    json["skipped"] = candidate.skipped;
  }
  return json;
}

std::string explanation_text(const Problem& problem, const Config& chosen, const std::string& reason,
                             const std::vector<Candidate>& candidates, bool simulated) {
  TextTable table({"candidate", simulated ? "simulated us" : "time us", "skipped"});
  for (const Candidate& candidate : candidates) {
    table.add({to_string(candidate.config), candidate.time_us ? fmt::format("{:.3f}", *candidate.time_us) : "",
               candidate.skipped});
  }
  return fmt::format("{}: {}\n{}\n\n{}", to_string(problem), to_string(chosen), reason, table.text());
}

}  // namespace

int run(const ExplainOptions& options) {
  const table::Table table = load_table(options.table);
  const table::Choice choice = table::lookup(table, options.problem, table::alignment_of(options.problem));
  if (!choice.kernel) {
    throw_error(StatusCode::unsupported, "{} has no entry for {}: tune for this type", options.table.string(),
                to_string(options.problem.dtype));
  }
  const Config& chosen = choice.kernel->config;
  const std::string reason = reason_text(choice);
  const std::vector<Candidate> candidates = candidates_of(table, options);
  if (!options.json) {
    print(explanation_text(options.problem, chosen, reason, candidates, table.device.simulated));
    return kDone;
  }
  Json json{{"problem", to_string(options.problem)},
            {"chosen", json_of(chosen)},
            {"reason", reason},
            {"simulated", table.device.simulated},
            {"candidates", Json::array()}};
  for (const Candidate& candidate : candidates) json["candidates"].push_back(json_of_candidate(candidate));
  print_json(json);
  return kDone;
}

}  // namespace softmax_dispatch::cli
