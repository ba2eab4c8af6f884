#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "device/sim/exec/shared_memory.hpp"

namespace softmax_dispatch::sim {

/// A copy into shared memory that its thread has asked for, and that has not arrived.
struct PendingCopy {
  std::uint64_t to = 0;
  const std::byte* from = nullptr;
  std::uint64_t source = 0;  ///< The address of that.
  std::uint32_t bytes = 0;
  std::uint32_t thread = 0;
  bool on_barrier = false;  ///< Otherwise it completes when the thread waits for its copies.
  std::uint64_t barrier = 0;
};

/// A barrier in shared memory (mbarrier), as its eight bytes hold it here. A phase is over when as many threads as it
/// is for have arrived and as many bytes as they named.
struct CopyBarrier {
  std::uint32_t phase = 0;    ///< Its lowest bit.
  std::uint32_t threads = 0;  ///< Of each phase.
  std::uint32_t missing = 0;  ///< Threads that have not arrived in this one.
  std::uint32_t bytes = 0;    ///< That have not.

  static constexpr unsigned kFieldBits = 20;
  static CopyBarrier read(const std::byte* from) noexcept;
  void write(std::byte* to) const noexcept;
  /// Ends the phase where it is over.
  void settle() noexcept;
};

/// Copies in the background of a block. One arrives no sooner than somebody waits for it.
struct Copies {
  /// Who has arrived at a barrier or copies to it, in any phase: of each warp the lanes, and what they had seen.
  struct Arrivals {
    SharedMemory::Clock clock{};
    std::array<LaneMask, 32> lanes{};
  };
  std::vector<PendingCopy> pending;
  std::map<std::uint64_t, Arrivals> arrivals;  ///< By the barrier's place.

  void reset() {
    pending.clear();
    arrivals.clear();
  }
};

}  // namespace softmax_dispatch::sim
