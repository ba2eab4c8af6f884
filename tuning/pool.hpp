#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>

#include "tuning/worker.hpp"

namespace softmax_dispatch::tuning {

/// Independent jobs spread over worker processes.
struct PoolJobs {
  std::size_t count = 0;
  /// Runs job i; called on a thread of the pool. A WorkerLost that it throws goes to `lost` and another worker goes on.
  std::function<void(Worker& worker, std::size_t i)> run;
  std::function<void(std::size_t i, const std::string& reason)> lost;  ///< On a thread of the pool.
  std::function<void(std::size_t i)> finished;  ///< On the calling thread, after run or lost; may be empty.
  const std::atomic<bool>* stop = nullptr;      ///< When set, no further job is started.
};

/// Cores of this machine: how many workers can compute at once.
std::size_t cores();

/// Returns when every job has finished or `stop` was set. Throws the Error of a worker that cannot be started, or that
/// a job has thrown, where no worker is left to do the jobs.
void run_in_workers(std::size_t workers, const WorkerCommand& command, const WorkerSettings& settings,
                    const PoolJobs& jobs);

}  // namespace softmax_dispatch::tuning
