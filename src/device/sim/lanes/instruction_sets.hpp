#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "device/sim/lanes/lanes.hpp"

// The lane functions are compiled once for each instruction set of the host, from the same .inc files, in a namespace
// of its own. A GCC that takes the pragma compiles the second; elsewhere the portable one is all there is.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SOFTMAX_DISPATCH_SIM_AVX2 1
#else
#define SOFTMAX_DISPATCH_SIM_AVX2 0
#endif

namespace softmax_dispatch::sim::lanes {

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

namespace portable {
void add_integer(Table& table);
void add_bits(Table& table);
void add_real(Table& table);
void add_integer_conversions(Table& table);
void add_halves(Table& table);
void set_helpers(Table& table);
}  // namespace portable

namespace avx2 {
void add_integer(Table& table);
void add_bits(Table& table);
void add_real(Table& table);
void add_integer_conversions(Table& table);
void add_halves(Table& table);
void set_helpers(Table& table);
}  // namespace avx2

/// The general conversions, which are not worth a second copy.
void add_conversions(Table& table);

}  // namespace softmax_dispatch::sim::lanes
