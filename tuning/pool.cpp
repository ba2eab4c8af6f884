#include "tuning/pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "support/error.hpp"
#include "support/log.hpp"

namespace softmax_dispatch::tuning {
namespace {

class Pool {
 public:
  Pool(const WorkerCommand& command, const WorkerSettings& settings, const PoolJobs& jobs)
      : command_(command), settings_(settings), jobs_(jobs) {}

  void run(std::size_t workers) {
    serving_ = std::clamp<std::size_t>(workers, 1, std::max<std::size_t>(jobs_.count, 1));
    std::vector<std::thread> threads;
    for (std::size_t i = serving_; i > 0; --i) threads.emplace_back([this] { serve(); });
    report();
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
    if (start_error_ && !stopped() && next_ < jobs_.count) std::rethrow_exception(start_error_);
  }

 private:
  bool stopped() const { return jobs_.stop && jobs_.stop->load(); }

  bool more() {
    const std::lock_guard lock(mutex_);
    return !error_ && !stopped() && next_ < jobs_.count;
  }

  std::optional<std::size_t> take() {
    const std::lock_guard lock(mutex_);
    if (error_ || stopped() || next_ >= jobs_.count) return std::nullopt;
    return next_++;
  }

  /// Each thread owns its worker: a worker ends with the thread that started it.
  void serve() {
    std::optional<Worker> worker;
    while (more() && start(worker)) {
      const std::optional<std::size_t> job = take();
      if (!job) break;
      try {
        jobs_.run(*worker, *job);
      } catch (const WorkerLost& lost) {
        worker.reset();
        jobs_.lost(*job, lost.what());
      } catch (...) {
        keep(error_);
        break;
      }
      const std::lock_guard lock(mutex_);
      finished_.push_back(*job);
      changed_.notify_one();
    }
    worker.reset();
    const std::lock_guard lock(mutex_);
    --serving_;
    changed_.notify_one();
  }

  /// A worker that cannot start leaves the jobs to the others: a GPU in exclusive mode takes one process only.
  bool start(std::optional<Worker>& worker) {
    if (worker) return true;
    try {
      worker.emplace(command_, settings_);
      return true;
    } catch (const Error& error) {
      log(LogLevel::info, "one worker less: {}", error.what());
      keep(start_error_);
      return false;
    }
  }

  void keep(std::exception_ptr& slot) {
    const std::lock_guard lock(mutex_);
    if (!slot) slot = std::current_exception();
  }

  /// Hands finished jobs to the caller until no thread serves.
  void report() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !finished_.empty() || serving_ == 0; });
      if (finished_.empty()) return;
      const std::size_t job = finished_.front();
      finished_.pop_front();
      lock.unlock();
      try {
        if (jobs_.finished) jobs_.finished(job);
      } catch (...) {
        keep(error_);
      }
      lock.lock();
    }
  }

  const WorkerCommand& command_;
  const WorkerSettings& settings_;
  const PoolJobs& jobs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::size_t> finished_;
  std::size_t serving_ = 0, next_ = 0;
  std::exception_ptr error_, start_error_;
};

}  // namespace

std::size_t cores() {
  return std::max(1u, std::thread::hardware_concurrency());
}

void run_in_workers(std::size_t workers, const WorkerCommand& command, const WorkerSettings& settings,
                    const PoolJobs& jobs) {
  if (jobs.count > 0) Pool(command, settings, jobs).run(workers);
}

}  // namespace softmax_dispatch::tuning
