#pragma once

#include <optional>

#include "support/config.hpp"
#include "variants/registry.hpp"

/// Kernels of kernels_src/bench/: they are timed beside variants, and are none. A worker compiles them by these names.
namespace softmax_dispatch::tuning {

inline constexpr char kCopyKernel[] = "copy";
inline constexpr char kReduceOnceKernel[] = "reduce_once";

/// The kernel that loads, reduces once over the same threads and stores, for the launch of the configuration; nothing
/// where the variant has none.
std::optional<Config> reduce_once_of(const Registry& registry, const Config& config);

}  // namespace softmax_dispatch::tuning
