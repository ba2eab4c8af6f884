#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "device/sim/exec/counts.hpp"
#include "device/sim/exec/repeat/motion.hpp"
#include "device/sim/memory.hpp"

namespace softmax_dispatch::sim {

/// Bytes of global memory in a row, whose address follows t.
struct Run {
  std::uint64_t address = 0;  ///< At the record's t.
  std::uint32_t bytes = 0;
  std::int64_t rate = 0;
  Allocation* allocation = nullptr;

  std::uint64_t address_at(std::int64_t distance) const noexcept {
    return address + static_cast<std::uint64_t>(rate) * static_cast<std::uint64_t>(distance);
  }
  friend bool operator==(const Run&, const Run&) = default;
};

/// What a launch has counted, without what is zero.
struct SparseTally {
  using Counts = std::vector<std::pair<std::uint32_t, std::uint64_t>>;
  Counts segments, segment_lanes, diverged, guarded, guarded_lanes;
  std::uint64_t sectors_load = 0, sectors_store = 0, bytes_load = 0, bytes_store = 0;

  static SparseTally difference(const Tally& after, const Tally& before);
  void add_to(Tally& tally, std::uint64_t times) const;
};

/// What a block did from its start to its end, or in one round of its walk over rows: what it read from global memory,
/// what it wrote, what it counted; and how far another t does the same, if it reads the same.
struct Record {
  std::int64_t t = 0;
  Reach reach;
  std::vector<Run> loads;  ///< Ascending, apart from each other.
  std::vector<std::byte> loaded;
  std::vector<Run> stores;  ///< In the order of the block.
  std::vector<std::byte> stored;
  SparseTally tally;  ///< Without the sectors of the accesses below.
  std::vector<Run> sector_loads, sector_stores;

  // Of one round of a block that walks over rows:
  bool ends = false;         ///< The block ended; otherwise it came to where it started,
  std::int64_t advance = 0;  ///< so much further on,
  std::vector<Run> shared;   ///< and left this in shared memory.
  std::vector<std::byte> shared_bytes;
};

}  // namespace softmax_dispatch::sim
