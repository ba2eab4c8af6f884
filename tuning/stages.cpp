#include "tuning/stages.hpp"

#include <algorithm>

#include "support/error.hpp"
#include "tuning/pool.hpp"

namespace softmax_dispatch::tuning {
namespace {

/// NVRTC takes a core per process and some hundred megabytes.
constexpr std::size_t kMostCompilers = 16;
/// A verification spreads over the cores itself, and what is common to kernels is computed once per process. On a
/// simulated device the kernels run on the cores, and there is a worker for each.
constexpr std::size_t kMostVerifiers = 4;

}  // namespace

std::vector<std::optional<CompileResult>> compile_configs(const std::vector<Config>& configs,
                                                          const WorkerCommand& command, const WorkerSettings& settings,
                                                          const OnResult<CompileResult>& on_result,
                                                          const std::atomic<bool>* stop) {
  std::vector<std::optional<CompileResult>> results(configs.size());
  WorkerSettings no_device = settings;
  no_device.device = -1;
  PoolJobs jobs;
  jobs.count = configs.size();
  jobs.run = [&](Worker& worker, std::size_t i) { results[i] = worker.compile(configs[i], kCompileSeconds); };
  jobs.lost = [&](std::size_t i, const std::string& reason) { results[i].emplace().error = reason; };
  jobs.finished = [&](std::size_t i) {
    if (on_result) on_result(i, *results[i]);
  };
  jobs.stop = stop;
  run_in_workers(std::min(cores(), kMostCompilers), command, no_device, jobs);
  return results;
}

std::vector<std::optional<Verified>> verify_configs(const std::vector<Config>& configs, verify::Depth depth,
                                                    const WorkerCommand& command, const WorkerSettings& settings,
                                                    const OnResult<Verified>& on_result, const std::atomic<bool>* stop,
                                                    double limit_s) {
  std::vector<std::optional<Verified>> results(configs.size());
  PoolJobs jobs;
  jobs.count = configs.size();
  jobs.run = [&](Worker& worker, std::size_t i) {
    try {
      results[i] = Verified{worker.verify(configs[i], depth, limit_s)};
    } catch (const Error& error) {
      results[i].emplace().outcome.reason = error.what();
    }
  };
  jobs.lost = [&](std::size_t i, const std::string& reason) {
    Verified& verified = results[i].emplace();
    verified.outcome.reason = reason;
    verified.lost = true;
  };
  jobs.finished = [&](std::size_t i) {
    if (on_result) on_result(i, *results[i]);
  };
  jobs.stop = stop;
  const std::size_t workers = settings.simulated ? cores() : std::clamp<std::size_t>(cores() / 4, 1, kMostVerifiers);
  run_in_workers(workers, command, settings, jobs);
  return results;
}

std::vector<CompileResult> compile_all(const std::vector<Config>& configs, const WorkerCommand& command,
                                       const WorkerSettings& settings,
                                       const std::function<void(std::size_t done)>& progress) {
  std::size_t done = 0;
  const auto count = [&](std::size_t, const CompileResult&) {
    if (progress) progress(++done);
  };
  std::vector<CompileResult> results;
  for (auto& result : compile_configs(configs, command, settings, count, nullptr))
    results.push_back(std::move(*result));
  return results;
}

}  // namespace softmax_dispatch::tuning
