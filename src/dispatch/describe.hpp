#pragma once

#include <fmt/core.h>

#include <string>

#include "device/device.hpp"

namespace softmax_dispatch::runtime {

/// "device 0 (NVIDIA H200)" or "the simulated Tesla T4 (sm_75)", as messages name it.
inline std::string describe(const DeviceInfo& info) {
  if (info.simulated) return fmt::format("the simulated {} ({})", info.name, info.arch);
  return fmt::format("device {} ({})", info.ordinal, info.name);
}

}  // namespace softmax_dispatch::runtime
