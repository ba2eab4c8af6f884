#pragma once

#include <softmax_dispatch/dispatcher.hpp>

namespace softmax_dispatch::runtime {

/// The process-wide dispatcher, made at the first call, or why it could not be made.
struct ProcessWide {
  Dispatcher dispatcher;
  Status status;
};
ProcessWide& process_wide() noexcept;

/// The device of the process-wide dispatcher that is yet to be made, as DispatcherOptions::device. Error:
/// invalid_argument for null, a text that does not parse, and where the dispatcher is made already; no_device.
Status select_device(const char* device) noexcept;

}  // namespace softmax_dispatch::runtime
