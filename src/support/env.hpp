#pragma once

#include <optional>
#include <string>

namespace softmax_dispatch {

/// The only place that reads the environment. Each function reads it anew; an empty variable counts as not set.
namespace env {

std::optional<std::string> table();      ///< SOFTMAX_DISPATCH_TABLE: decision table of the process-wide dispatcher.
std::optional<std::string> device();     ///< SOFTMAX_DISPATCH_DEVICE: what dispatchers compute on: cuda, sim, sim:ARCH.
std::optional<std::string> nvrtc();      ///< SOFTMAX_DISPATCH_NVRTC: path of the libnvrtc to use.
std::optional<std::string> log_level();  ///< SOFTMAX_DISPATCH_LOG: off, error, warn, info, debug.

/// Folder of the cubin cache: SOFTMAX_DISPATCH_CACHE ("off" gives nullopt), else $XDG_CACHE_HOME/softmax_dispatch, else
/// ~/.cache/softmax_dispatch; nullopt where no home is known. The folder may not exist yet.
std::optional<std::string> cache_directory();

}  // namespace env
}  // namespace softmax_dispatch
