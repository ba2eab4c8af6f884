#pragma once

#include <cstdint>

namespace softmax_dispatch {

/// Shape of a launch, and what the launch needs besides. Grid and block are one-dimensional (grid.x only).
struct Geometry {
  std::int64_t grid = 0;          ///< Blocks, 1 .. 2^31 - 1.
  int block = 0;                  ///< Threads in a block.
  std::int64_t shared_bytes = 0;  ///< Dynamic shared memory of a block.
  int cluster = 1;                ///< Blocks of a thread-block cluster, of which the grid is a multiple; 1: none.
  bool cooperative = false;       ///< Blocks wait for each other: all of the grid must be on the device at once.
  /// Launched before the work ahead of it in the stream is done, where the device has programmatic stream serialization
  /// (sm_90). The kernel itself waits with griddepcontrol.wait before it touches memory.
  bool overlaps = false;
  int parts = 1;                     ///< Blocks that share a row: the kernel's parameter `parts`.
  int phases = 1;                    ///< The kernel is launched so many times in order, with `phase` = 0, 1, ...
  std::int64_t workspace_bytes = 0;  ///< Of Launch::workspace; 0: it takes none.

  /// Blocks that must be on the device at once.
  std::int64_t together() const noexcept { return cooperative ? grid : cluster; }

  friend bool operator==(const Geometry&, const Geometry&) = default;
};

}  // namespace softmax_dispatch
