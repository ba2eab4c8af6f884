#pragma once

#include <fmt/core.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "device/sim/exec/block.hpp"
#include "device/sim/exec/launch.hpp"
#include "device/sim/exec/repeat/repeater.hpp"
#include "device/sim/exec/workspace_check.hpp"
#include "device/sim/lanes/lanes.hpp"
#include "support/error.hpp"

namespace softmax_dispatch::sim {

/// Addresses of an access, one per lane.
using Addresses = std::array<std::uint64_t, lanes::kLanes>;

/// The lanes of an access by the space that they address, and the addresses within it.
struct SpreadAccess {
  Addresses addresses;
  LaneMask global = 0, shared = 0, local = 0;
};

/// What a block did with its turn.
enum class Turn : std::uint8_t {
  finished,
  ended,  ///< The turn's steps are used up, or it polls memory that another block may write.
};

inline constexpr std::uint64_t kPollsPerTurn = 64;

inline constexpr std::uint64_t kSectorBytes = 32;
/// That the bytes lie in, at least one.
inline std::uint64_t sectors_of_range(std::uint64_t address, std::uint64_t bytes) {
  return (address + bytes - 1) / kSectorBytes - address / kSectorBytes + 1;
}

/// Runs the steps of blocks, one host thread's share of a launch.
class Executor {
 public:
  /// `constants`: the program's, with the launch's values filled in.
  Executor(const GridLaunch& launch, const Allocations& memory, bool checks, const std::byte* constants);

  /// Gives the block a turn. Throws Error(device) for what the kernel does wrong, and where no lane of the block can
  /// ever go on.
  Turn run(Block& block);

  /// What the kernel's clocks start from, so that what depends on them differs from launch to launch.
  void start_clock(std::uint64_t at) noexcept { clock_reads_ = at; }

  Tally& tally() noexcept { return tally_; }
  /// Who follows the steps of the blocks that run; null for nobody.
  void follow_with(Recorder* recorder) noexcept { recorder_ = recorder; }
  /// Who is told when a block has passed a barrier; null for nobody.
  void tell(Repeater* repeater) noexcept { repeater_ = repeater; }
  /// Stores, and atomics that changed something, so far. May be read by other threads.
  std::uint64_t effects() const noexcept { return effects_.load(std::memory_order_relaxed); }
  /// Strong accesses, atomics and pauses of the last turn: the block may be waiting for another.
  std::uint64_t polls() const noexcept { return polls_; }
  /// Throws Error(device): the blocks wait for a store that no block makes.
  [[noreturn]] void deadlock(const std::vector<std::unique_ptr<Block>>& blocks);

 private:
  // executor.cpp
  void run_warp(Block& block, Warp& warp);
  void run_path(int path);
  void run_steps(const Segment& segment);
  void run_recorded_steps(const Segment& segment);
  void run_lanes(const Op& op);
  void run_guarded(const Op& op, std::uint32_t index);
  void run_special(const Op& op);
  void set_mask(LaneMask mask);
  bool end_segment(int path, const Segment& segment);
  void clock(const Op& op);

  const std::byte* read(Ref ref) const noexcept { return bases_[ref & kConstantBit] + (ref & ~kConstantBit); }
  std::byte* write(Ref ref) const noexcept { return warp_->registers() + ref; }
  std::uint64_t lane_value(Ref ref, unsigned bytes, int lane) const noexcept {
    const std::byte* const slot = read(ref);
    if (bytes == 8) return reinterpret_cast<const std::uint64_t*>(slot)[lane];
    return reinterpret_cast<const std::uint32_t*>(slot)[lane];
  }
  void set_lane(Ref ref, unsigned bytes, int lane, std::uint64_t value) const noexcept {
    std::byte* const slot = write(ref);
    if (bytes == 8) {
      reinterpret_cast<std::uint64_t*>(slot)[lane] = value;
    } else {
      reinterpret_cast<std::uint32_t*>(slot)[lane] = static_cast<std::uint32_t>(value);
    }
  }

  // global_access.cpp
  void memory_op(const Op& op);
  void memory_op(const Op& op, const SpreadAccess& at);
  void recorded_memory_op(const Op& op, const SpreadAccess& at);
  SpreadAccess spread(const Access& access) const;
  /// Elements of 4 or 8 bytes whose slots are as wide and all kept, in an ordinary access.
  static bool is_plain(const Access& access) noexcept;
  /// n for the lanes 0 .. n - 1 and no others; otherwise 0.
  static int leading_lanes(LaneMask mask) noexcept;
  bool in_row(const Addresses& addresses, int lanes, unsigned step) const noexcept;
  void load_global(const Access& access, Allocation*& hint, LaneMask mask, const Addresses& addresses);
  void store_global(const Access& access, Allocation*& hint, LaneMask mask, const Addresses& addresses);
  bool load_global_row(const Access& access, Allocation*& hint, LaneMask mask, const Addresses& addresses);
  bool store_global_row(const Access& access, Allocation*& hint, LaneMask mask, const Addresses& addresses);
  Allocation& allocation_at(Allocation*& hint, std::uint64_t address, unsigned bytes, int lane, const char* action);
  /// What a lane loads: the bytes on the host.
  const std::byte* loaded(Allocation*& hint, std::uint64_t address, unsigned bytes, int lane);
  void check_waited(LaneMask mask) const;
  /// Throws Error(device) where the access races with another block. The lock is to be held until the access is done.
  std::unique_lock<std::mutex> check_workspace(OpKind kind, const Access& access, const SpreadAccess& at) const;
  std::unique_lock<std::mutex> check_workspace_copy(const PendingCopy& copy) const;
  void check_alignment(std::uint64_t address, unsigned bytes, int lane, const char* what) const;

  // block_access.cpp
  void load_shared(const Access& access, LaneMask mask, const Addresses& addresses);
  void store_shared(const Access& access, LaneMask mask, const Addresses& addresses);
  bool load_shared_row(const Access& access, LaneMask mask, const Addresses& addresses);
  bool store_shared_row(const Access& access, LaneMask mask, const Addresses& addresses);
  SharedAccessor accessor(int lane, bool strong) const noexcept { return {warp_, lane, strong, instruction_}; }
  [[noreturn]] void race(int lane, std::uint64_t address, const char* what) const;
  void check_shared(std::uint64_t address, unsigned bytes, int lane, const char* action) const;
  void load_local(const Access& access, LaneMask mask, const Addresses& addresses);
  void store_local(const Access& access, LaneMask mask, const Addresses& addresses);
  void check_local(std::uint64_t address, unsigned bytes, int lane, const char* action) const;
  void load_elements(const Access& access, int lane, const std::byte* from) const;
  void store_elements(const Access& access, int lane, std::byte* to) const;

  // atomics.cpp
  void atomic_op(const Op& op);
  void one_atomic(const Access& access, const Atomic& atomic, Allocation** hint, int lane, const Addresses& addresses);
  std::byte* shared_atomic(std::uint64_t address, unsigned bytes, int lane);
  std::byte* global_atomic(Allocation*& hint, std::uint64_t address, unsigned bytes, int lane);

  // copies.cpp
  void copy_op(const Op& op);
  void start_copies(const BackgroundCopy& copy);
  template <typename Wanted>
  void deliver(Wanted wanted);
  std::byte* copy_barrier(std::uint64_t place, int lane);
  void init_barrier(std::uint64_t place, std::uint32_t threads, int lane);
  void release_at(std::uint64_t place, int lane);
  void arrive_at(std::uint64_t place, std::uint32_t bytes, int lane);
  void wait_at(const BackgroundCopy& copy);

  // warp_sync.cpp
  bool warp_sync(int path, std::uint32_t index);
  void plan_shuffles();
  bool whole_warp_shuffle(std::uint32_t index);
  void complete_warp_syncs();
  bool complete_one_warp_sync();
  struct Taking;
  void exchange(const Taking& taking);

  // barrier.cpp
  void barrier(int path, const Sync& sync);
  void warps_at_barrier();
  void arrive(LaneMask lanes, const Sync& sync);
  void share_waits();
  void open(std::uint32_t number);
  std::uint32_t common_segment() const noexcept;
  std::uint32_t barrier_number(LaneMask mask, const Sync& sync) const;
  [[noreturn]] void stuck();

  /// Throws Error(device): kernel, line of the current instruction, what, block, and the lane's thread (-1: of none).
  [[noreturn]] void fault(int lane, const std::string& what) const;
  /// A strong access may be a look at what another block has to write: many of them end the turn.
  void note_poll() noexcept {
    if (++polls_ % kPollsPerTurn == 0) budget_ = 0;
  }
  void note_effect() noexcept {
    ++changes_;
    effects_.store(effects() + 1, std::memory_order_relaxed);
  }

  const GridLaunch& launch_;
  const Program& program_;
  const Allocations& memory_;
  const lanes::Helpers& helpers_;
  const bool checks_;
  const bool checks_waits_;  ///< For griddepcontrol.wait.
  Tally tally_;
  std::atomic<std::uint64_t> effects_{0};
  std::uint64_t steps_ = 0;
  std::vector<Allocation*> hints_;  ///< Per access: where it went last.
  /// Of a shuffle of the whole warp by constants: where each lane reads, and which of them are in range.
  struct ShufflePlan {
    bool usable = false;
    std::array<std::uint8_t, lanes::kLanes> from{};
    std::array<std::uint32_t, lanes::kLanes> in_range{};
  };
  std::vector<ShufflePlan> shuffles_;  ///< Per synchronisation.

  Recorder* recorder_ = nullptr;
  Repeater* repeater_ = nullptr;
  std::uint32_t passed_ = kNoSegment;  ///< Where the whole block is, when it has just passed a barrier.
  Block* block_ = nullptr;
  Warp* warp_ = nullptr;
  std::array<const std::byte*, 2> bases_{};
  std::uint32_t instruction_ = 0;
  LaneMask mask_ = 0;
  std::int64_t budget_ = 0;    ///< Steps left of the warp's turn.
  std::uint64_t polls_ = 0;    ///< Of the block's turn.
  std::uint64_t changes_ = 0;  ///< Stores, to shared memory too, and atomics that changed something.
  std::uint64_t clock_reads_ = 0;
  alignas(64) std::array<std::uint32_t, lanes::kLanes> mask_lanes_{};
  alignas(64) std::array<std::byte, 2 * lanes::kSlotBytes> scratch_{};
};

}  // namespace softmax_dispatch::sim
