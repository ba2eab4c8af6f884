#pragma once

#include <cstdint>

#include "verify/verify.hpp"

namespace softmax_dispatch::verify {

/// A matrix of this size costs little beside a launch and its transfers.
inline constexpr std::int64_t kCheapElements = 1 << 16;

/// How many inputs are stacked as rows of one matrix at this length: all of them while that is cheap.
std::int64_t stacked_inputs(std::int64_t N, Depth depth);

}  // namespace softmax_dispatch::verify
