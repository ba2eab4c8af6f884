#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/sim/sim_device.hpp"

/// The GPUs that are simulated: configs/devices/*.yaml, embedded in the library.
namespace softmax_dispatch::sim {

/// A GPU as its file describes it.
struct Description {
  DeviceInfo info;
  std::shared_ptr<const TimingModel> model;
};

/// Reads the text of such a file; `name` stands at the front of every message. Throws Error(bad_table).
Description parse_description(std::string_view text, std::string_view name);

/// Architectures of which there is one, in ascending order.
std::vector<std::string> simulated_archs();

/// The GPU that stands for an architecture, as an open device would report it; nothing where there is none.
std::optional<DeviceInfo> simulated_info(std::string_view arch);

/// Throws Error(no_device) for an architecture without one, naming those that have one.
std::unique_ptr<SimDevice> open(std::string_view arch, const SimOptions& options = {});

}  // namespace softmax_dispatch::sim
