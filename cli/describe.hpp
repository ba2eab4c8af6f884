#pragma once

#include <cstdint>
#include <string>

#include "jit/resources.hpp"
#include "support/arch.hpp"
#include "support/geometry.hpp"
#include "variants/variant.hpp"

/// Figures and words about variants that several commands show.
namespace softmax_dispatch::cli {

std::string axis_text(const Axis& axis);  ///< "THREADS 32..1024, by 32"

/// Shared memory of a block, static and dynamic.
std::int64_t shared_bytes(const jit::Resources& resources, const Geometry& geometry);

/// Theoretical occupancy, 0..1; 0 where the block cannot be launched.
double occupancy(const ArchLimits& limits, const jit::Resources& resources, const Geometry& geometry);

}  // namespace softmax_dispatch::cli
