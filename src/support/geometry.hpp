#pragma once

#include <cstdint>

namespace softmax_dispatch {

/// Shape of a launch. Grid and block are one-dimensional (grid.x only).
struct Geometry {
  std::int64_t grid = 0;          ///< Blocks, 1 .. 2^31 - 1.
  int block = 0;                  ///< Threads in a block.
  std::int64_t shared_bytes = 0;  ///< Dynamic shared memory of a block.

  friend bool operator==(const Geometry&, const Geometry&) = default;
};

}  // namespace softmax_dispatch
