#pragma once

#include <cstddef>
#include <cstdint>

#include "device/device.hpp"
#include "device/sim/exec/counts.hpp"

namespace softmax_dispatch::sim {

/// What ptxas made of a kernel; PTX does not say it. Zero registers: not known, and not checked at a launch.
struct KernelResources {
  int registers = 0;
  int stack_bytes = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
};

/// A launch as a timing model sees it.
struct TimedLaunch {
  const DeviceInfo& device;
  const LaunchCounts& counts;
  const KernelResources& resources;
  Geometry geometry;
  std::int64_t shared_bytes = 0;  ///< Of a block, static and dynamic.
  std::int64_t M = 0, N = 0;
};

/// How long the simulated device takes: the clock of SimDevice. Thread-safe.
class TimingModel {
 public:
  virtual ~TimingModel() = default;
  virtual double launch_us(const TimedLaunch& launch) const = 0;
  virtual double copy_us(const DeviceInfo& device, std::size_t bytes) const = 0;
};

}  // namespace softmax_dispatch::sim
