#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuning/worker.hpp"

namespace softmax_dispatch::tuning {

/// Screening of all candidates at a shape, and the replays of those that are near the best.
struct ShapePlan {
  TimingPlan screen;
  double finalist_factor = 1;
  int final_replays = 0;
};

struct Timed {
  Config config;
  Timing timing;                     ///< Of all its samples; median 0 where it has an error.
  bool final = false;                ///< It was among the finalists.
  std::optional<std::string> error;  ///< Why it has no time.
};

/// Times candidates on the device in a worker process. One that ends the worker is quarantined: reported, and left out
/// of that shape and of every later one. Threads: as Worker.
class ShapeTimer {
 public:
  ShapeTimer(WorkerCommand command, WorkerSettings settings,
             std::function<void(const Config&, const std::string& reason)> on_quarantine);

  /// In the order of the candidates. `always` is a finalist however slow it is. Throws Error(device) where workers die
  /// without a candidate to blame.
  std::vector<Timed> time(const Problem& problem, const std::vector<Config>& candidates, const ShapePlan& plan,
                          const std::optional<Config>& always = {});
  double copy_limit_us(const Problem& problem, const TimingPlan& plan);
  /// Worker::reduce_once().
  TimeResult reduce_once(const Problem& problem, const Config& config, const TimingPlan& plan);
  Worker& worker();

 private:
  void add_samples(const Problem& problem, std::vector<Timed>& field, std::vector<std::vector<double>>& samples,
                   const TimingPlan& plan, const std::function<bool(std::size_t)>& takes_part);
  void blame(const Problem& problem, const WorkerLost& lost, std::vector<Timed>& field);

  WorkerCommand command_;
  WorkerSettings settings_;
  std::function<void(const Config&, const std::string&)> on_quarantine_;
  std::unique_ptr<Worker> worker_;
  std::vector<std::pair<Config, std::string>> quarantined_;
  int strays_ = 0;  ///< Workers lost without a candidate to blame.
};

}  // namespace softmax_dispatch::tuning
