#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "table/table.hpp"
#include "tuning/protocol.hpp"
#include "tuning/sweep.hpp"
#include "tuning/worker.hpp"

namespace softmax_dispatch::tuning {

/// What the person watching sees: the stage, n of total, the best so far, and the time left.
struct Progress {
  std::string stage;  ///< compile, verify, measure, fit.
  std::int64_t done = 0, total = 0;
  std::string detail;  ///< The configuration or shape in hand, or the best so far.
  std::optional<double> seconds_left;
};

struct TuneOptions {
  std::string arch;        ///< "sm_90"
  int device = 0;          ///< Ordinal of a GPU of that architecture.
  bool simulated = false;  ///< Instead: the simulated GPU of that architecture.
  Sweep sweep;
  std::vector<DType> dtypes{DType::f32};
  std::uint64_t seed = 42;
  /// Measuring stops when it is spent; the table is marked partial. Types come one after the other: each has an equal
  /// share, and what those before it have left.
  std::optional<double> budget_s;
  Protocol protocol = Protocol::graph;
  std::filesystem::path journal;         ///< JSONL, appended as things are measured.
  std::optional<table::Table> previous;  ///< The table to be replaced: its pins survive.
  WorkerCommand worker;
  std::filesystem::path cache;  ///< Folder of the cubin cache.
  /// Whether every candidate is verified, before it is timed. Not set: not on a simulated device, where that takes
  /// long.
  std::optional<bool> verify_all;
  double verify_limit_s = 30;  ///< For one case of a verification, before its worker is taken to hang.
  std::function<void(const Progress&)> progress;
  const std::atomic<bool>* interrupted = nullptr;  ///< Set by a signal handler: finish with what there is.
};

/// A configuration that will not be in the table, and why: it did not compile, uses local memory, failed verification,
/// or killed its worker.
struct Rejected {
  Config config;
  std::string stage;  ///< compile, resources, verify, measure.
  std::string reason;
};

struct TuneResult {
  table::Table table;
  std::vector<Rejected> rejected;
};

/// enumerate -> compile (in parallel) -> drop what spills -> verify -> screen -> measure finalists -> fit. On a
/// simulated device, where verifying takes seconds and timing milliseconds: ... -> drop what spills -> measure -> fit
/// -> verify what the fit chose -> fit again without what failed, until every kernel of the table is verified. Never
/// throws for a bad candidate; throws Error for what stops the tune: no device, no NVRTC, a journal that cannot be
/// written, nothing that verifies.
TuneResult tune(const TuneOptions& options, const Registry& registry, const jit::Sources& sources);

/// Compiles configurations in parallel over worker processes, in order of the request. `progress` may be empty.
std::vector<CompileResult> compile_all(const std::vector<Config>& configs, const WorkerCommand& command,
                                       const WorkerSettings& settings,
                                       const std::function<void(std::size_t done)>& progress);

/// One row of `bench`.
struct BenchVariant {
  Config config;
  double time_us = 0;
  std::optional<std::string> skipped;  ///< Why it was not timed.
};
struct BenchRow {
  Problem problem;
  Config chosen;
  double time_us = 0;   ///< Of the chosen configuration, median.
  double limit_us = 0;  ///< The faster of a memcpy and a vectorised copy kernel over the same bytes.
  double gb_per_s = 0;  ///< One read and one write of the matrix over time_us.
  /// With reduce_once: of a kernel that has the launch of the chosen one, loads, reduces once and stores.
  std::optional<double> reduce_once_us;
  std::optional<std::string> no_reduce_once;  ///< With reduce_once: why there is no such time.
  std::vector<BenchVariant> variants;         ///< With all_variants: every configuration of the table's sweep.
};
struct BenchOptions {
  WorkerCommand worker;
  WorkerSettings settings;
  TimingPlan plan;
  bool all_variants = false;
  bool reduce_once = false;
  std::function<void(const Progress&)> progress;
};
/// `choose` maps a problem to the configuration that dispatch would use. Configurations are compiled and (briefly)
/// verified before they are timed.
std::vector<BenchRow> bench(const std::vector<Problem>& problems, const std::vector<Config>& candidates,
                            const std::function<Config(const Problem&)>& choose, const BenchOptions& options,
                            const Registry& registry);

}  // namespace softmax_dispatch::tuning
