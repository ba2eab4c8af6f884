#pragma once

#include <cstdint>

namespace softmax_dispatch::testing {

/// Calls of operator new by this thread so far: allocations.cpp replaces the operator for the whole test program.
std::int64_t allocations() noexcept;

}  // namespace softmax_dispatch::testing
