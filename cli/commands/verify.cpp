#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/console.hpp"
#include "cli/json.hpp"
#include "cli/machine.hpp"
#include "cli/tables.hpp"
#include "support/error.hpp"
#include "tuning/worker.hpp"

namespace softmax_dispatch::cli {
namespace {

constexpr double kCompileTimeoutS = 120;
constexpr double kVerifyTimeoutS = 600;

struct Verdict {
  const table::Kernel* kernel = nullptr;
  bool same_code = false;  ///< Compiled here to the code whose hash the table holds.
  verify::Outcome outcome;
};

/// Verifies kernels one after the other; one that ends its worker gets another one started for the next.
class Verifier {
 public:
  explicit Verifier(tuning::WorkerSettings settings) : settings_(std::move(settings)) {}

  Verdict run(const table::Kernel& kernel) {
    Verdict verdict{&kernel, false, {}};
    if (!worker_) worker_ = std::make_unique<tuning::Worker>(worker_command(), settings_);
    try {
      const auto compiled = worker_->compile(kernel.config, kCompileTimeoutS);
      if (compiled.error) {
        verdict.outcome.reason = "does not compile: " + *compiled.error;
        return verdict;
      }
      verdict.same_code = compiled.code_hash == kernel.code_hash;
      verdict.outcome = worker_->verify(kernel.config, verify::Depth::full, kVerifyTimeoutS);
    } catch (const tuning::WorkerLost& lost) {
      verdict.outcome.reason = lost.what();
      worker_.reset();
    } catch (const Error& error) {
      verdict.outcome.reason = error.what();
    }
    return verdict;
  }

 private:
  tuning::WorkerSettings settings_;
  std::unique_ptr<tuning::Worker> worker_;
};

std::string verdicts_text(const std::vector<Verdict>& verdicts) {
  TextTable table({"kernel", "configuration", "verified", "cases", "worst error", "code", "reason"});
  for (const Verdict& verdict : verdicts) {
    const verify::Outcome& outcome = verdict.outcome;
    table.add({verdict.kernel->name, to_string(verdict.kernel->config), outcome.passed ? "yes" : "no",
               std::to_string(outcome.cases), fmt::format("{:.3f}", outcome.worst_error),
               verdict.same_code ? "as in the table" : "other than in the table", outcome.reason});
  }
  return table.text() + "\nworst error: the largest error over its tolerance; below 1 passes\n";
}

Json verdicts_json(const std::vector<Verdict>& verdicts) {
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
    if (!outcome.passed) entry["reason"] = outcome.reason;
    json.push_back(std::move(entry));
  }
  return json;
}

}  // namespace

int run(const VerifyOptions& options) {
  const table::Table table = load_table(options.table);
  const DeviceInfo gpu = choose_gpu(options.device, table.device.arch);
  const RunCache cache;
  Verifier verifier({gpu.arch, gpu.ordinal, cache.path(), open_nvrtc(gpu.limits)->path()});

  std::vector<Verdict> verdicts;
  {
    ProgressLine line(options.quiet);
    for (const table::Kernel& kernel : table.kernels) {
      line.update({"verify",
                   static_cast<std::int64_t>(verdicts.size()),
                   static_cast<std::int64_t>(table.kernels.size()),
                   to_string(kernel.config),
                   {}});
      verdicts.push_back(verifier.run(kernel));
    }
  }
  if (options.json) {
    print_json(verdicts_json(verdicts));
  } else {
    print(verdicts_text(verdicts));
  }
  const auto passed = [](const Verdict& verdict) { return verdict.outcome.passed; };
  return std::ranges::all_of(verdicts, passed) ? kDone : kFailed;
}

}  // namespace softmax_dispatch::cli
