#pragma once

#include <cstdint>
#include <softmax_dispatch/problem.hpp>

namespace softmax_dispatch::runtime {

/// Checks that a kernel may be asked for the shape. Throws Error(invalid_argument) for negative sizes, an unknown
/// type, or a matrix that 64-bit byte offsets cannot address; Error(unsupported) for a type that no variant computes.
/// Returns the bytes of the matrix: 0 where there is nothing to compute.
std::int64_t check_shape(const Problem& problem);

/// check_shape(), and the pointers: not null where there are elements, aligned to the element size, y equal to x or
/// apart. Allocates nothing unless it throws.
std::int64_t check_arguments(const void* x, const void* y, const Problem& problem);

}  // namespace softmax_dispatch::runtime
