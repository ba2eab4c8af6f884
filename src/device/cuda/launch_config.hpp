#pragma once

#include <array>
#include <string>

#include "device/cuda/driver.hpp"
#include "device/device.hpp"

namespace softmax_dispatch::cuda {

/// A launch with attributes, for cuLaunchKernelEx. On the stack: a launch allocates nothing.
class LaunchConfig {
 public:
  /// `overlaps`: what Geometry::overlaps comes to on the device, see overlaps().
  LaunchConfig(const Geometry& geometry, bool overlaps, CUstream stream) noexcept;
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  const CUlaunchConfig& get() const noexcept { return config_; }

  /// Whether the device and its driver launch a kernel before the work ahead of it is done. Compute capability 9.0
  /// has it; a capture of such a launch has it from CUDA 12.3 on.
  static bool overlaps(const DeviceInfo& info) noexcept {
    return info.limits.major >= 9 && info.driver_version >= 12030;
  }

 private:
  CUlaunchAttribute& add(CUlaunchAttributeID id) noexcept;

  std::array<CUlaunchAttribute, 3> attributes_{};
  CUlaunchConfig config_{};
};

/// " in clusters of 4, cooperatively", as a message about a launch needs it.
std::string describe_attributes(const Geometry& geometry);

/// Throws Error(unsupported) for what no launch on the device can have.
void check_geometry(const Geometry& geometry, const DeviceInfo& info);

}  // namespace softmax_dispatch::cuda
