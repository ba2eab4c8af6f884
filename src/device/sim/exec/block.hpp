#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/sim/exec/copies.hpp"
#include "device/sim/exec/launch.hpp"
#include "device/sim/exec/shared_memory.hpp"
#include "device/sim/exec/warp.hpp"

namespace softmax_dispatch::sim {

inline constexpr std::uint32_t kBarriers = 16;

/// One of a block's barriers: who has arrived since it last opened.
struct Barrier {
  std::uint32_t expected = 0;  ///< Threads; 0 while nobody has arrived.
  std::uint32_t arrived = 0;
  std::uint32_t warps = 0;    ///< Bit per warp.
  std::uint32_t count = 0;    ///< Threads whose predicate is true, of a reduction.
  std::uint32_t reduced = 0;  ///< Threads that gave a predicate.
};

/// Bytes aligned for lane functions.
class SlotBuffer {
 public:
  explicit SlotBuffer(std::size_t bytes);
  std::byte* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::vector<std::byte> storage_;
  std::byte* data_;
  std::size_t bytes_;
};

/// A block that runs, or one that will: its storage serves one block after the other.
class Block {
 public:
  Block(const GridLaunch& launch, const Schedule* schedule);

  /// At the start of block `index` of the grid, whose place in the order of this run is `order`.
  void reset(std::uint64_t index, std::uint64_t order, std::uint64_t seed);

  std::uint64_t index() const noexcept { return index_; }
  std::uint64_t order() const noexcept { return order_; }
  /// The warp that has the first turn: another one in every block.
  std::size_t first_warp() const noexcept { return first_warp_; }
  std::vector<Warp>& warps() noexcept { return warps_; }
  const std::vector<Warp>& warps() const noexcept { return warps_; }
  SharedMemory& shared() noexcept { return shared_; }
  std::array<Barrier, kBarriers>& barriers() noexcept { return barriers_; }
  Copies& copies() noexcept { return copies_; }
  bool finished() const noexcept;
  /// Its clock; null where nobody asks.
  Timeline* timeline() noexcept { return timeline_.get(); }
  /// Thread of the block.
  std::uint32_t thread(const Warp& warp, int lane) const noexcept {
    return warp.index() * lanes::kLanes + static_cast<std::uint32_t>(lane);
  }

  /// Local memory of a thread, and per byte whether it was written.
  std::byte* local(std::uint32_t thread) noexcept { return local_.data() + std::size_t{thread} * local_bytes_; }
  std::uint8_t* local_written(std::uint32_t thread) noexcept {
    return local_written_.data() + std::size_t{thread} * local_bytes_;
  }

  /// Of everything that a step can change but global memory: two equal ones in a row of steps without a store mean that
  /// the block would go on like that for ever.
  std::string state_hash() const;

 private:
  void set_specials(Warp& warp);

  const GridLaunch& launch_;
  SlotBuffer registers_;
  std::vector<Warp> warps_;
  SharedMemory shared_;
  std::array<Barrier, kBarriers> barriers_{};
  Copies copies_;
  std::size_t local_bytes_;
  std::vector<std::byte> local_;
  std::vector<std::uint8_t> local_written_;
  std::uint64_t index_ = 0, order_ = 0;
  std::size_t first_warp_ = 0;
  std::unique_ptr<Timeline> timeline_;
};

}  // namespace softmax_dispatch::sim
