#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "variants/variant.hpp"

/// What the families of kernels have in common.
namespace softmax_dispatch {

inline constexpr std::int64_t kWarpThreads = 32;
inline constexpr std::int64_t kMostBlocks = (std::int64_t{1} << 31) - 1;  ///< Of a grid.

std::int64_t ceil_div(std::int64_t a, std::int64_t b);

/// Elements of a vector of 16 bytes, the widest access of a thread.
std::int64_t vector_elements(DType dtype);

/// Throws Error(internal) where the axis is not set.
std::int64_t value_of(const Constants& constants, std::string_view name);

/// Whether the variant computes the type, every axis is set to a value in its range and no other is, and the target can
/// have a block of so many threads.
Support check_axes(const Variant& variant, DType dtype, const Constants& constants, const Target& target);

/// Every combination of the ladders' values for the variant's axes; GRID times the device's SMs. Throws
/// Error(invalid_argument) where an axis has no ladder.
std::vector<Constants> combinations(const Variant& variant, const Ladders& ladders, const Target& target);

/// Sorted, each once, without those below 1 and above `most`.
std::vector<std::int64_t> as_boundaries(std::vector<std::int64_t> lengths, std::int64_t most);

}  // namespace softmax_dispatch
