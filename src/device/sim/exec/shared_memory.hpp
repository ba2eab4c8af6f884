#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/sim/exec/warp.hpp"

namespace softmax_dispatch::sim {

/// Who accesses shared memory, and when in terms of the barriers passed.
struct SharedAccessor {
  const Warp* warp = nullptr;
  int lane = 0;
  bool strong = false;  ///< Atomic, volatile or ordered: two such accesses are never a race.
  std::uint32_t instruction = 0;
};

/// The shared memory of a block, and what is known of each granule of it: whether it was written, by whom last, and who
/// has read it since.
///
/// Two accesses of one granule, at least one a write, by different threads are a race unless they are ordered:
/// - threads of different warps by a barrier of the block in which both warps took part after the first access. With
///   barriers of a part of the block only the readers of the latest interval are remembered;
/// - by a barrier in shared memory (mbarrier), for what came before one has arrived there and what follows where
/// another
///   has waited;
/// - lanes of one warp by an instruction that synchronises them (shfl.sync, vote.sync, match.sync, bar.warp.sync, a
///   barrier) after the first access. That they run in lock-step here orders nothing.
/// Two strong accesses are no race, nor are two writes of the same value. Flags in shared memory that threads wait for
/// do not count as synchronisation.
class SharedMemory {
 public:
  /// The granule is the smallest element that the program accesses.
  SharedMemory(const Program& program, std::uint32_t dynamic_bytes, std::uint32_t warps);

  /// For the next block: nothing is initialised, nobody has synchronised.
  void reset();

  std::byte* at(std::uint64_t offset) noexcept { return bytes_.data() + offset; }
  const std::byte* at(std::uint64_t offset) const noexcept { return bytes_.data() + offset; }
  std::size_t bytes() const noexcept { return bytes_.size(); }
  /// Whether the bytes all belong to variables.
  bool holds(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  std::string describe_outside(std::uint64_t offset) const;

  bool initialised(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// Note the access, before the bytes are changed. False where it races with another one, which race() then describes.
  bool read(const SharedAccessor& who, std::uint64_t offset, std::uint64_t bytes);
  bool write(const SharedAccessor& who, std::uint64_t offset, std::uint64_t bytes, bool same_value);
  const std::string& race() const noexcept { return race_; }

  /// The usual accesses at once: lane i of the first `lanes` accesses word i from `offset` on, or all of them the one
  /// word. False where a look at each lane is needed; then nothing has been noted.
  bool read_row(const SharedAccessor& who, std::uint64_t offset, int lanes);
  bool read_word(const SharedAccessor& who, std::uint64_t offset, LaneMask lanes);
  bool write_row(const SharedAccessor& who, std::uint64_t offset, int lanes);

  /// What a thread makes known to those that wait for it: of each warp, up to which tick it knows what that did.
  using Clock = std::array<std::uint32_t, 32>;
  void release(const Warp& warp, Clock& to) noexcept;
  void acquire(const Warp& warp, const Clock& from) noexcept;

  /// A barrier of the block in which these warps took part.
  void synchronised(std::uint32_t warps);
  /// Puts there what the block would have written before the last barrier of all its warps.
  void put(std::uint64_t offset, const std::byte* from, std::uint64_t bytes);

 private:
  struct Granule {
    std::uint32_t write_tick = 0, write_warp_tick = 0;
    std::uint32_t read_tick = 0, read_warps = 0;                ///< The warps that read at read_tick.
    std::uint32_t read_lanes = 0, read_warp_tick = 0;           ///< The lanes of read_warp that read at read_warp_tick.
    std::uint32_t write_instruction = 0, read_instruction = 0;  ///< The last.
    std::uint8_t write_warp = 0, write_lane = 0, read_warp = 0;
    bool written = false, strong_write = false, strong_read = false;
  };

  bool ordered(std::uint32_t other_warp, std::uint32_t tick, const Warp& warp) const noexcept {
    return tick < sync_tick_[warp.index()][other_warp];
  }
  bool conflicts_with_write(const SharedAccessor& who, const Granule& granule);
  bool conflicts_with_reads(const SharedAccessor& who, const Granule& granule);
  void note_read(Granule& granule, const SharedAccessor& who, LaneMask lanes) const noexcept;
  void note_write(Granule& granule, const SharedAccessor& who, int lane) const noexcept;
  template <typename F>
  bool for_each_granule(std::uint64_t offset, std::uint64_t bytes, F f);

  const Program& program_;
  std::vector<std::byte> bytes_;
  std::vector<std::uint8_t> inside_;  ///< Per byte: whether a variable holds it.
  std::vector<Granule> granules_;
  unsigned granule_shift_ = 2;
  std::uint32_t warps_;
  std::uint32_t tick_ = 0;
  std::uint32_t whole_tick_ = 0;  ///< Of the last barrier in which every warp took part.
  /// [a][b]: what warp b did before this tick, warp a knows of.
  std::vector<Clock> sync_tick_;
  std::string race_;
};

}  // namespace softmax_dispatch::sim
