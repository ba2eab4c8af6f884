#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <softmax_dispatch/problem.hpp>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "jit/compiler.hpp"
#include "jit/sources.hpp"
#include "support/config.hpp"
#include "tuning/protocol.hpp"
#include "variants/registry.hpp"
#include "verify/verify.hpp"

/// Everything that can crash, hang or corrupt a context runs in a worker process: compiling, verifying, timing. A
/// worker that dies costs the candidate it was running; the owner quarantines it and starts another worker.
namespace softmax_dispatch::tuning {

/// How to start a worker: the program and its arguments. The product runs itself with a hidden subcommand; tests run
/// their own program, whose registry holds planted faults.
struct WorkerCommand {
  std::string program;
  std::vector<std::string> arguments;
};

/// What a worker needs to know beyond the registry it was built with.
struct WorkerSettings {
  std::string arch;             ///< "sm_90"
  int device = -1;              ///< Ordinal, 0 where it is simulated; -1: none, compile only.
  std::filesystem::path cache;  ///< Folder of the cubin cache shared by all workers.
  std::string nvrtc;            ///< Path of the NVRTC to use; empty: as Nvrtc::open() finds it.
  bool simulated = false;       ///< The simulated GPU of the architecture, and kernels compiled for it.
};

/// The worker's main loop: JSON lines on stdin and stdout, until stdin ends. Returns the exit code. `argv` holds
/// WorkerSettings as written by the parent.
int worker_main(const Registry& registry, const jit::Sources& sources, const std::vector<std::string>& arguments);

/// One compiled configuration, or why it did not compile.
struct CompileResult {
  std::string code_hash, source_hash;
  jit::Resources resources;
  std::optional<double> compile_s;  ///< As jit::CompiledKernel::compile_s.
  std::optional<std::string> error;
};

/// Times of the candidates at one shape, in the order of the request; a candidate whose launch failed has an error.
struct TimeResult {
  std::vector<double> samples_us;
  std::optional<std::string> error;
};

/// Thrown when the worker died or overran its time: what it was doing, and how it ended (signal, exit code, time
/// limit).
class WorkerLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The owner's side of one worker process. Not thread-safe. After WorkerLost the object is dead: make another.
class Worker {
 public:
  Worker(const WorkerCommand& command, const WorkerSettings& settings);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  DeviceInfo device_info();
  std::string nvrtc_build();
  CompileResult compile(const Config& config, double timeout_s);
  verify::Outcome verify(const Config& config, verify::Depth depth, double timeout_s);
  /// `replays` timings of each candidate on rotating buffers, interleaved in a random order from `seed`.
  std::vector<TimeResult> time(const Problem& problem, const std::vector<Config>& candidates, const TimingPlan& plan,
                               double timeout_s);
  /// The limit: the faster of a memcpy and a vectorised copy kernel over the same bytes, microseconds.
  double copy_limit_us(const Problem& problem, const TimingPlan& plan, double timeout_s);
  /// Times of a kernel that has the launch of the configuration, loads, reduces once over the same threads and stores
  /// (kernels_src/bench/reduce_once.cu), or why there is none.
  TimeResult reduce_once(const Problem& problem, const Config& config, const TimingPlan& plan, double timeout_s);
  /// Candidate that the worker last said it was about to run, for the reason of a quarantine.
  const std::string& last_activity() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace softmax_dispatch::tuning
