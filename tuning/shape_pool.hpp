#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tuning/shape_timer.hpp"

namespace softmax_dispatch::tuning {

/// A shape and the configurations that are timed at it.
struct ShapeField {
  Problem problem;
  std::vector<Config> candidates;
};

/// Told on the calling thread.
struct ShapeEvents {
  /// Of the shape at position i, but for the quarantined.
  std::function<void(std::size_t i, const std::vector<Timed>& field)> timed;
  std::function<void(const Config& config, const std::string& reason)> quarantined;
};

/// Times shapes on a simulated device, whose clock no other work disturbs, in a worker for each core. Neighbours with
/// the same N go to one worker, which knows from the first what the others execute. A candidate that ends its worker is
/// quarantined: left out of every later shape, and the shapes in hand are timed again without it. No shape is begun
/// after `stop` is set. Throws Error(device) where workers die without a candidate to blame.
void time_shapes(const std::vector<ShapeField>& shapes, const TimingPlan& plan, const WorkerCommand& command,
                 const WorkerSettings& settings, const ShapeEvents& events, const std::atomic<bool>& stop);

}  // namespace softmax_dispatch::tuning
