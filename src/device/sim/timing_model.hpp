#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/sim/exec/counts.hpp"

namespace softmax_dispatch::sim {

/// A launch as a timing model sees it.
struct TimedLaunch {
  const DeviceInfo& device;
  const LaunchCounts& counts;
  const Resources& resources;
  Geometry geometry;
  std::int64_t shared_bytes = 0;  ///< Of a block, static and dynamic.
  std::int64_t M = 0, N = 0;
  /// Distinct bytes that are accessed from one use of these buffers to the next, the launch's own among them: what must
  /// fit in L2 for the launch to find its input there.
  std::int64_t bytes_between_uses = 0;
  int element_bytes = 4;  ///< Of input and output.
};

/// The time that one physical cause would take alone.
struct TimeTerm {
  std::string name;  ///< "dram", "l2", "issue", ...
  double time_us = 0;
};

/// How long a launch takes, and why.
struct ModelledTime {
  double time_us = 0;
  std::string bound;            ///< The name of the term that rules.
  std::vector<TimeTerm> terms;  ///< They overlap: their sum is more than the time.
};

/// How long the simulated device takes: the clock of SimDevice. Thread-safe.
class TimingModel {
 public:
  virtual ~TimingModel() = default;
  /// What LaunchCounts::path and issue_slots of its launches are made with.
  virtual const InstructionCosts& costs() const {
    static const InstructionCosts general;
    return general;
  }
  virtual ModelledTime launch(const TimedLaunch& launch) const = 0;
  /// A copy of `bytes` within the device; `bytes_between_uses` as above.
  virtual double copy_us(const DeviceInfo& device, std::size_t bytes, std::int64_t bytes_between_uses) const = 0;
};

}  // namespace softmax_dispatch::sim
