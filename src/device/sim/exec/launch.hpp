#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/sim/exec/counts.hpp"
#include "device/sim/memory.hpp"
#include "device/sim/program/program.hpp"

namespace softmax_dispatch::sim {

class WorkspaceCheck;

/// A kernel, its shape and its parameters. The grid and the block have one dimension.
struct GridLaunch {
  std::shared_ptr<const Program> program;
  std::uint64_t grid = 1;
  std::uint32_t block = 32;  ///< 1 .. 1024
  std::uint32_t dynamic_shared_bytes = 0;
  std::vector<std::byte> parameters;  ///< program->parameter_bytes
  std::uint32_t sm_count = 1;
  /// It may begin before the work ahead of it is done: global memory is not to be touched before griddepcontrol.wait.
  bool overlaps = false;
  /// Blocks of a program that communicates may wait for each other; those of a launch that is not cooperative must not,
  /// and each may run alone.
  bool together = true;
  WorkspaceCheck* workspace_check = nullptr;  ///< Null: blocks are not looked at together.

  bool blocks_wait() const noexcept { return together && program->communicates; }
};

struct RunOptions {
  /// Whether reads of uninitialised memory, races in shared memory and misaligned accesses are looked for. Accesses out
  /// of bounds, barriers and shuffles that cannot complete and deadlocks always are.
  bool checks = true;
  unsigned host_threads = 1;
  /// Whether blocks that would do what another one did, on the same bytes, are not executed again; see Repeats.
  bool repeat = true;
  std::uint64_t seed = 0;  ///< Of the order in which blocks run.
  /// Blocks that are on the device at once: how many may wait for each other.
  std::uint64_t resident_blocks = 1;
  /// At most so many blocks run, and the counts are scaled; 0: all. Blocks that may wait for each other all run.
  std::uint64_t sampled_blocks = 0;
  std::uint64_t sample_group = 32;  ///< Consecutive blocks of a sample.
  /// Where it is given, LaunchCounts::path and issue_slots are found.
  const Schedule* schedule = nullptr;
};

/// Runs the launch to its end. Throws Error(device) for what the kernel does wrong, naming kernel, line, block, thread
/// and address. Of several faults that of the block that comes first in the order of this seed is reported.
LaunchCounts run(const GridLaunch& launch, const Allocations& memory, const RunOptions& options);

}  // namespace softmax_dispatch::sim
