#pragma once

#include <string>

#include "device/sim/sim_device.hpp"
#include "jit/compiler.hpp"
#include "variants/variant.hpp"

/// One launch on a simulated GPU, for `profile`.
namespace softmax_dispatch::cli {

struct Simulated {
  DeviceInfo device;
  sim::LaunchCounts counts;
  sim::ModelledTime time;  ///< On buffers that the same launch has just used.
};

/// The input is uniform in [-10, 10). A launch that is small enough runs as a whole; of a larger one a sample of the
/// blocks runs and the counts are scaled (LaunchCounts::sampled_blocks). Throws Error(no_device) for an architecture
/// that is not simulated, Error(device) with kernel and source line for a kernel that faults.
Simulated simulate(const jit::Compiler& compiler, const Variant& variant, const Constants& constants,
                   const Problem& problem, const std::string& arch);

}  // namespace softmax_dispatch::cli
