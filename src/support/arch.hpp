#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace softmax_dispatch {

/// Limits of a streaming multiprocessor (SM) that follow from the compute capability alone.
/// Source: CUDA C++ Programming Guide, "Compute Capabilities", technical specifications per compute capability.
struct ArchLimits {
  std::string arch;  ///< "sm_75"
  int major = 0, minor = 0;
  int max_threads_per_block = 1024;
  int max_threads_per_sm = 0;
  int max_blocks_per_sm = 0;
  int registers_per_sm = 65536;
  int max_registers_per_thread = 255;
  int shared_bytes_per_sm = 0;
  int shared_bytes_per_block = 49152;    ///< Without opt-in.
  int shared_bytes_per_block_optin = 0;  ///< The most a block can have.
};

/// Limits of an architecture. Throws Error(invalid_argument) for text that is not sm_NN or is not a known architecture
/// of compute capability 7.5 or newer, naming those that are known.
const ArchLimits& arch_limits(std::string_view arch);
std::vector<std::string> known_archs();

/// Blocks of `threads` threads with `registers` a thread and `shared_bytes` a block that one SM holds at once; 0 where
/// the block cannot be launched. Registers are allocated per warp in units of 256, to one of four partitions of the SM.
int blocks_per_sm(const ArchLimits& limits, int threads, int registers, std::int64_t shared_bytes);

/// Resident warps over the most the SM can hold, 0..1.
double theoretical_occupancy(const ArchLimits& limits, int threads, int registers, std::int64_t shared_bytes);

}  // namespace softmax_dispatch
