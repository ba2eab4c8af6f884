#pragma once

#include <span>
#include <string_view>

namespace softmax_dispatch {

/// A file compiled into the library by softmax_dispatch_embed() (cmake/embed.cmake).
struct EmbeddedFile {
  std::string_view name;  ///< Path relative to the embedded folder, e.g. "common/reduce.cuh".
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_kernels();  ///< kernels_src/
std::span<const EmbeddedFile> embedded_devices();  ///< configs/devices/
std::span<const EmbeddedFile> embedded_tables();   ///< configs/tables/
std::span<const EmbeddedFile> embedded_sweeps();   ///< configs/sweeps/ (in the tuner only)

}  // namespace softmax_dispatch
