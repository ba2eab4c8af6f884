#pragma once

#include <string_view>
#include <vector>

#include "gpu/planted/mutations.hpp"

namespace softmax_dispatch::planted {

/// What verification says, as regular expressions.
inline constexpr std::string_view kWrong = "got|sums to|was not written";
inline constexpr std::string_view kGotNan = "got -?nan";
inline constexpr std::string_view kExpectedNan = "expected nan";
inline constexpr std::string_view kNotWritten = "was not written";
inline constexpr std::string_view kPastTheEnd = "past the end of the output";
inline constexpr std::string_view kMisaligned = "MISALIGNED_ADDRESS|misaligned global (load|store)";
inline constexpr std::string_view kRace = "shared memory race|uninitialised|got|sums to";
/// Beside the row: seen at the matrix's ends, or by what the row then computes.
inline constexpr std::string_view kOutside = "got|sums to|past the end|before the start|out of bounds|ILLEGAL_ADDRESS";
/// The same of a vector, which then need not be aligned either.
inline constexpr std::string_view kVectorOutside =
    "got|sums to|was not written|past the end|before the start|out of "
    "bounds|ILLEGAL_ADDRESS|MISALIGNED_ADDRESS|misaligned";
/// Elements of other rows overwritten, before or after these are stored.
inline constexpr std::string_view kNeighbours = "got|sums to|was not written|past the end|before the start";
/// Blocks that wait for each other for ever, or take another's state.
inline constexpr std::string_view kWrongOrHangs = "got|sums to|deadlock|time limit";
inline constexpr std::string_view kDrift = "above the rest.*got";

// A circumstance, before a statement: every warp but the first is late there.
#define SOFTMAX_DISPATCH_LATE_WARPS \
  "if (threadIdx.x >= 32) for (long long start = clock64(); clock64() - start < 20000;);\n"

/// A mutation of several kernels.
struct Trap {
  std::string_view name;
  std::vector<std::string_view> configs;
  std::vector<Edit> edits;
  Effect effect = Effect::fails;
  std::string_view words;
};

/// Of the kernel that holds a row in lanes of a warp.
std::vector<Trap> lanes_traps();

/// Of the kernels that hold a row, or a part of one, as it was loaded.
std::vector<Trap> held_row_traps();

/// Of the kernels that take a row in parts.
std::vector<Trap> part_traps();

}  // namespace softmax_dispatch::planted
