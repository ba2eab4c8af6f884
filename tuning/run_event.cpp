#include "tuning/run_event.hpp"

#include <fmt/core.h>
#include <softmax_dispatch/version.h>

namespace softmax_dispatch::tuning {
namespace {

/// Of a simulated device, in the place of the protocol by which times would be measured.
constexpr std::string_view kModel = "model";

std::string driver_text(const DeviceInfo& device) {
  if (device.simulated) return "none";
  return fmt::format("{}.{}", device.driver_version / 1000, device.driver_version % 1000 / 10);
}

}  // namespace

RunEvent run_event(const TuneOptions& options, const DeviceInfo& device, std::string nvrtc_build,
                   std::int64_t configs) {
  RunEvent event;
  event.library_version = SOFTMAX_DISPATCH_VERSION;
  event.device = {device.name, device.arch, device.sm_count, device.l2_bytes, device.memory_bus_bits, device.simulated};
  event.toolchain = {std::move(nvrtc_build), jit::Compiler::flags(), driver_text(device)};
  event.sweep.effort = options.sweep.name;
  event.sweep.protocol = device.simulated ? kModel : to_string(options.protocol);
  event.sweep.buffers = options.protocol == Protocol::graph ? "cold" : "warm";
  event.sweep.seed = static_cast<std::int64_t>(options.seed);
  event.sweep.M = options.sweep.M;
  event.sweep.N = options.sweep.N;
  event.sweep.configs = configs;
  return event;
}

}  // namespace softmax_dispatch::tuning
