#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "device/sim/exec/repeat/record.hpp"
#include "device/sim/exec/repeat/walk_state.hpp"
#include "device/sim/exec/shared_memory.hpp"
#include "device/sim/exec/warp.hpp"

namespace softmax_dispatch::sim {

/// Follows a block while it runs: which of its values move with the number of the block, and how. The rates that it
/// keeps are those of the active lanes' values; other lanes never read what these write.
class Recorder {
 public:
  using Addresses = std::array<std::uint64_t, lanes::kLanes>;

  Recorder(const Program& program, const Allocations& memory, std::uint32_t warps);

  /// Whether blocks of the program can be recorded at all: none depends on another, on the time, or on where it runs.
  static bool can_record(const Program& program);

  /// Block t is about to start.
  void begin(std::int64_t t, const Tally& tally);
  /// A block at the start of a round, where its state follows t like that.
  void begin_round(std::int64_t t, const WalkState& state, const Tally& tally);
  /// Whether all its registers follow t as they did at the start of the round.
  bool is_back(const WalkState& state) const;
  /// Something happened that cannot be repeated: the rest of the block is not followed.
  void fail() noexcept { failed_ = true; }
  bool failed() const noexcept { return failed_; }
  /// The block, or the round, has ended. None where it cannot be repeated.
  std::optional<Record> finish(const Tally& tally, const SharedMemory& shared);

  // The steps of the block, before they change a register.
  void lanes_step(std::uint32_t op, const Warp& warp, LaneMask mask, const std::byte* constants);
  void synchronisation(const Sync& sync, const Warp& warp, LaneMask mask);
  void access(const Op& op, const Warp& warp, LaneMask mask);
  /// The part of that access that went to global memory, after it was made. `sectors`: that it touched.
  void global(const Op& op, LaneMask mask, const Addresses& addresses, std::uint64_t sectors);
  /// The part that goes to shared memory, before it is made.
  void shared(const Op& op, LaneMask mask, const Addresses& addresses);

 private:
  void start(std::int64_t t, const Tally& tally);
  void keep_shared(const SharedMemory& shared);

  /// The rates of a warp's slots. One that does not move has no rates.
  struct Moving {
    std::vector<std::uint8_t> moves;  ///< Per slot of kSlotBytes.
    std::vector<Rates> rates;
  };

  static std::size_t slot(Ref ref) noexcept { return ref / lanes::kSlotBytes; }
  static bool is_register(Ref ref) noexcept { return (ref & kConstantBit) == 0; }
  bool may_move(const Warp& warp, Ref ref) const noexcept {
    return is_register(ref) && warps_[warp.index()].moves[slot(ref)] != 0;
  }
  bool moves(const Warp& warp, Ref ref, LaneMask mask) const noexcept;
  void stop(const Warp& warp, Ref ref, LaneMask mask) noexcept;
  void set(const Warp& warp, Ref ref, LaneMask mask, const Rates& rates);
  MovingOperand operand(const Warp& warp, Ref ref, unsigned bytes, const std::byte* constants) const;
  void find_runs(unsigned bytes, LaneMask mask, const Addresses& addresses);
  void note_load(const Run& run);
  void note_store(const Run& run);
  bool merge_loads();

  const Program& program_;
  const Allocations& memory_;
  std::vector<Motion> motions_;  ///< Per op.
  std::vector<Moving> warps_;
  Rates address_rates_{};             ///< Of the access at hand.
  std::vector<bool> shared_written_;  ///< Per byte, by the block so far.
  std::vector<Run> runs_;             ///< Of the access at hand.
  Tally before_;
  Record record_;
  bool failed_ = false;
};

}  // namespace softmax_dispatch::sim
