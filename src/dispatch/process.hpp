#pragma once

#include <softmax_dispatch/dispatcher.hpp>

namespace softmax_dispatch::runtime {

/// The process-wide dispatcher, made at the first call, or why it could not be made.
struct ProcessWide {
  Dispatcher dispatcher;
  Status status;
};
ProcessWide& process_wide() noexcept;

}  // namespace softmax_dispatch::runtime
