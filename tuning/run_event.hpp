#pragma once

#include <cstdint>
#include <string>

#include "tuning/journal.hpp"
#include "tuning/tuner.hpp"

namespace softmax_dispatch::tuning {

/// What a journal starts with. `configs`: how many configurations are candidates.
RunEvent run_event(const TuneOptions& options, const DeviceInfo& device, std::string nvrtc_build, std::int64_t configs);

}  // namespace softmax_dispatch::tuning
