#pragma once

#include <softmax_dispatch/dispatcher.hpp>
#include <string>
#include <string_view>

#include "dispatch/backend.hpp"
#include "dispatch/decision_source.hpp"

namespace softmax_dispatch::runtime {

/// What a dispatcher computes on.
struct DeviceChoice {
  bool simulated = false;
  std::string arch;  ///< Of the simulated GPU; empty: that of the table in use.

  friend bool operator==(const DeviceChoice&, const DeviceChoice&) = default;
};

/// Reads "cuda", "sim" or "sim:ARCH"; `named_by` is where the text stands, for messages. Throws Error(invalid_argument)
/// for any other text, (no_device) for an architecture without a simulated GPU.
DeviceChoice parse_device(std::string_view text, std::string_view named_by);

/// What the options ask for: their device, else SOFTMAX_DISPATCH_DEVICE, else the driver's. A simulated GPU whose
/// architecture is not named is one of the architecture of the options' table, else of sm_75. Throws as parse_device(),
/// and Error(bad_table) where the table is for another architecture than the one that is named.
Backend& backend_for(const DispatcherOptions& options, const DecisionSource& source);

}  // namespace softmax_dispatch::runtime
