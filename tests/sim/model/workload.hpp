#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "device/sim/sim_device.hpp"
#include "jit/compiler.hpp"
#include "support/config.hpp"

namespace softmax_dispatch::sim {

/// A launch of a kernel of the product as a timing model sees it, apart from the model.
struct Workload {
  DeviceInfo device;
  LaunchCounts counts;
  Resources resources;
  Geometry geometry;
  std::int64_t shared_bytes = 0;
  std::int64_t M = 0, N = 0;
  std::int64_t bytes_between_uses = 0;

  TimedLaunch launch() const { return {device, counts, resources, geometry, shared_bytes, M, N, bytes_between_uses}; }
};

/// Runs as much of launches as their counts need, on a simulated device that asks for no time.
class WorkloadMaker {
 public:
  /// `costs` are of the instructions of the device.
  WorkloadMaker(const DeviceInfo& info, const InstructionCosts& costs);

  /// What is accessed from one use of input and output to the next is `bytes_between_uses`; 0: they themselves, as
  /// where the same launch comes again and again.
  Workload make(const Config& config, std::int64_t M, std::int64_t N, std::int64_t bytes_between_uses = 0);

 private:
  class Recorder;
  const LoadedKernel& kernel(const Config& config);

  std::shared_ptr<Recorder> recorder_;
  std::unique_ptr<SimDevice> device_;
  jit::Compiler compiler_;
  std::map<std::string, std::shared_ptr<const LoadedKernel>> kernels_;
  std::map<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>, Workload> made_;
  Buffer x_, y_;
};

}  // namespace softmax_dispatch::sim
