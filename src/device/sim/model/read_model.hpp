#pragma once

#include <memory>

#include "device/sim/timing_model.hpp"
#include "support/yaml.hpp"

namespace softmax_dispatch::sim {

/// The timing model with the constants of a device file's `model` section. Throws Error(bad_table) for a key that is
/// missing or unknown, or a value out of range.
std::shared_ptr<const TimingModel> read_model(const yaml::Node& node);

}  // namespace softmax_dispatch::sim
