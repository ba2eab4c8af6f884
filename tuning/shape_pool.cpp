#include "tuning/shape_pool.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>

#include "support/error.hpp"
#include "tuning/pool.hpp"
#include "tuning/stages.hpp"

namespace softmax_dispatch::tuning {
namespace {

constexpr int kMostStrays = 2;

/// Shapes of one N, by their position.
using Group = std::vector<std::size_t>;

std::vector<Group> groups_of(const std::vector<ShapeField>& shapes) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (i == 0 || shapes[i].problem.N != shapes[i - 1].problem.N) groups.emplace_back();
    groups.back().push_back(i);
  }
  return groups;
}

class ShapePool {
 public:
  ShapePool(const std::vector<ShapeField>& shapes, const TimingPlan& plan, const ShapeEvents& events,
            const std::atomic<bool>& stop)
      : shapes_(shapes), plan_(plan), events_(events), stop_(stop), results_(shapes.size()) {}

  void run(const WorkerCommand& command, const WorkerSettings& settings) {
    std::vector<Group> groups = groups_of(shapes_);
    while (!groups.empty() && !stop_) {
      std::vector<Group> again;
      PoolJobs jobs;
      jobs.count = groups.size();
      jobs.run = [&](Worker& worker, std::size_t g) { time_group(worker, groups[g]); };
      jobs.lost = [](std::size_t, const std::string&) {};  // time_group() has noted it
      jobs.finished = [&](std::size_t g) {
        if (Group rest = report(groups[g]); !rest.empty()) again.push_back(std::move(rest));
      };
      jobs.stop = &stop_;
      run_in_workers(cores(), command, settings, jobs);
      groups = std::move(again);
    }
  }

 private:
  /// On a thread of the pool.
  void time_group(Worker& worker, const Group& group) {
    for (const std::size_t i : group) {
      if (stop_) return;
      std::vector<Timed> field;
      const std::vector<Config> able = able_at(shapes_[i]);
      try {
        std::vector<TimeResult> results = worker.time(shapes_[i].problem, able, plan_, kTimeSeconds);
        for (std::size_t k = 0; k < able.size(); ++k)
          field.push_back({able[k], summarize(std::move(results[k].samples_us)), false, std::move(results[k].error)});
      } catch (const WorkerLost& lost) {
        blame(shapes_[i], worker.last_activity(), lost.what());
        throw;
      }
      results_[i] = std::move(field);
    }
  }

  std::vector<Config> able_at(const ShapeField& shape) {
    const std::lock_guard lock(mutex_);
    std::vector<Config> able;
    std::copy_if(shape.candidates.begin(), shape.candidates.end(), std::back_inserter(able),
                 [&](const Config& config) { return !is_quarantined(config); });
    return able;
  }

  bool is_quarantined(const Config& config) const {
    return std::any_of(quarantined_.begin(), quarantined_.end(), [&](const auto& one) { return one.first == config; });
  }

  void blame(const ShapeField& shape, const std::string& activity, const std::string& how) {
    const std::string reason = fmt::format("at {}: {}", to_string(shape.problem), how);
    const auto guilty = std::find_if(shape.candidates.begin(), shape.candidates.end(),
                                     [&](const Config& config) { return to_string(config) == activity; });
    const std::lock_guard lock(mutex_);
    if (guilty != shape.candidates.end()) {
      if (!is_quarantined(*guilty)) quarantined_.emplace_back(*guilty, reason);
    } else if (++strays_ > kMostStrays) {
      throw_error(StatusCode::device, "{}, not for the first time and with no configuration to blame", reason);
    }
  }

  /// Hands on what there is of the group, and gives what is left of it.
  Group report(const Group& group) {
    std::vector<std::pair<Config, std::string>> bad;
    {
      const std::lock_guard lock(mutex_);
      bad.assign(quarantined_.begin() + static_cast<std::ptrdiff_t>(told_), quarantined_.end());
      told_ = quarantined_.size();
    }
    for (const auto& [config, reason] : bad) events_.quarantined(config, reason);
    Group rest;
    for (const std::size_t i : group) {
      if (results_[i])
        events_.timed(i, *results_[i]);
      else
        rest.push_back(i);
    }
    return rest;
  }

  const std::vector<ShapeField>& shapes_;
  const TimingPlan& plan_;
  const ShapeEvents& events_;
  const std::atomic<bool>& stop_;
  std::vector<std::optional<std::vector<Timed>>> results_;  ///< Each written by one thread.
  std::mutex mutex_;                                        // of what follows
  std::vector<std::pair<Config, std::string>> quarantined_;
  std::size_t told_ = 0;
  int strays_ = 0;
};

}  // namespace

void time_shapes(const std::vector<ShapeField>& shapes, const TimingPlan& plan, const WorkerCommand& command,
                 const WorkerSettings& settings, const ShapeEvents& events, const std::atomic<bool>& stop) {
  ShapePool(shapes, plan, events, stop).run(command, settings);
}

}  // namespace softmax_dispatch::tuning
