#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/console.hpp"
#include "cli/json.hpp"
#include "cli/machine.hpp"
#include "cli/tables.hpp"
#include "tuning/stages.hpp"

namespace softmax_dispatch::cli {
namespace {

struct Verdict {
  const table::Kernel* kernel = nullptr;
  bool same_code = false;  ///< Compiled here to the code whose hash the table holds.
  verify::Outcome outcome;
};

/// Compiles and verifies the kernels in worker processes, in the order of the table. `progress` is told of each.
std::vector<Verdict> verify_kernels(const std::vector<table::Kernel>& kernels, const tuning::WorkerSettings& settings,
                                    const std::function<void(std::size_t done, const Config&)>& progress) {
  std::vector<Verdict> verdicts;
  std::vector<Config> configs;
  for (const table::Kernel& kernel : kernels) {
    verdicts.push_back({&kernel, false, {}});
    configs.push_back(kernel.config);
  }
  std::vector<Config> sound;
  std::vector<std::size_t> positions;
  const auto compiled = tuning::compile_configs(configs, worker_command(), settings, {}, nullptr);
  for (std::size_t i = 0; i < compiled.size(); ++i) {
    if (compiled[i]->error) {
      verdicts[i].outcome.reason = "does not compile: " + *compiled[i]->error;
      continue;
    }
    verdicts[i].same_code = compiled[i]->code_hash == kernels[i].code_hash;
    sound.push_back(configs[i]);
    positions.push_back(i);
  }
  std::size_t done = configs.size() - sound.size();
  const auto on_result = [&](std::size_t i, const tuning::Verified& verified) {
    verdicts[positions[i]].outcome = verified.outcome;
    progress(++done, sound[i]);
  };
  tuning::verify_configs(sound, verify::Depth::full, worker_command(), settings, on_result, nullptr);
  return verdicts;
}

std::string verdicts_text(const std::vector<Verdict>& verdicts, const DeviceInfo& device) {
  TextTable table({"kernel", "configuration", "verified", "cases", "worst error", "code", "reason"});
  for (const Verdict& verdict : verdicts) {
    const verify::Outcome& outcome = verdict.outcome;
    table.add({verdict.kernel->name, to_string(verdict.kernel->config), outcome.passed ? "yes" : "no",
               std::to_string(outcome.cases), fmt::format("{:.3f}", outcome.worst_error),
               verdict.same_code ? "as in the table" : "other than in the table", outcome.reason});
  }
  return fmt::format("{}\nverified on {}\nworst error: the largest error over its tolerance; below 1 passes\n",
                     table.text(), gpu_text(device));
}

Json verdicts_json(const std::vector<Verdict>& verdicts, const DeviceInfo& device) {
  Json json = Json::array();
  for (const Verdict& verdict : verdicts) {
    const verify::Outcome& outcome = verdict.outcome;
    Json entry{{"kernel", verdict.kernel->name}};
    entry.update(json_of(verdict.kernel->config));
    entry["passed"] = outcome.passed;
    entry["cases"] = outcome.cases;
    entry["N_to"] = bound_json(outcome.N_to);
    entry["worst_error"] = outcome.worst_error;
    entry["same_code"] = verdict.same_code;
    entry["device"] = device.name;
    entry["simulated"] = device.simulated;
    if (!outcome.passed) entry["reason"] = outcome.reason;
    json.push_back(std::move(entry));
  }
  return json;
}

}  // namespace

int run(const VerifyOptions& options) {
  const table::Table table = load_table(options.table);
  const DeviceInfo device = choose_device(options.device, table.device.arch);
  announce_simulated(device, options.device, "verifying on");
  const RunCache cache;
  const tuning::WorkerSettings settings = worker_settings(device, cache.path(), open_nvrtc(device.limits)->path());
  std::vector<Verdict> verdicts;
  {
    ProgressLine line(options.quiet);
    const auto total = static_cast<std::int64_t>(table.kernels.size());
    line.update({"verify", 0, total, "", {}});
    verdicts = verify_kernels(table.kernels, settings, [&](std::size_t done, const Config& config) {
      line.update({"verify", static_cast<std::int64_t>(done), total, to_string(config), {}});
    });
  }
  if (options.json) {
    print_json(verdicts_json(verdicts, device));
  } else {
    print(verdicts_text(verdicts, device));
  }
  const auto passed = [](const Verdict& verdict) { return verdict.outcome.passed; };
  return std::ranges::all_of(verdicts, passed) ? kDone : kFailed;
}

}  // namespace softmax_dispatch::cli
