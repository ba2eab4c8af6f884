#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "device/sim/exec/block.hpp"
#include "device/sim/exec/repeat/recorder.hpp"
#include "device/sim/exec/repeat/repeats.hpp"

namespace softmax_dispatch::sim {

/// A place behind a barrier where blocks that walk over rows come by in every round.
struct WalkPlace {
  explicit WalkPlace(bool checks) : rounds(checks) {}

  std::mutex mutex;  ///< Of the state, until it is found.
  std::unique_ptr<const WalkState> state;
  std::atomic<bool> hopeless{false};  ///< What is alive there does not follow a row.
  Repeats rounds;
};

/// What the blocks of a launch did, for all its host threads.
class LaunchRepeats {
 public:
  LaunchRepeats(const GridLaunch& launch, bool checks, bool whole_blocks);

  bool whole_blocks() const noexcept { return whole_blocks_; }
  bool walks() const noexcept { return walks_; }
  Repeats& blocks() noexcept { return blocks_; }
  WalkPlace& place(std::uint32_t segment);

 private:
  bool checks_, whole_blocks_, walks_;
  Repeats blocks_;
  std::mutex mutex_;
  std::map<std::uint32_t, WalkPlace> places_;
};

/// One host thread's use of them.
class Repeater {
 public:
  Repeater(LaunchRepeats& all, const GridLaunch& launch, const Allocations& memory);

  /// True where block t did what another one did: its stores are made.
  bool repeat(std::int64_t t, Tally& tally);
  /// Block t is about to be executed. Who follows it, or null.
  Recorder* begin(std::int64_t t, const Tally& tally);
  /// Whether passed() is to be called.
  bool wants_places() const noexcept { return all_.walks(); }
  /// All threads of the block that runs have passed a barrier and are at the segment. Rounds that repeat others are
  /// done at once: the block may be at another row then, or have ended. Who follows it from here, or null.
  Recorder* passed(Block& block, std::uint32_t segment, Tally& tally);
  /// The block has ended, without a fault.
  void ended(Block& block, const Tally& tally);
  /// It has not ended with its turn, or by a fault: nobody follows it further.
  void interrupted() noexcept { recording_ = Recording::nothing; }
  /// Adds what was repeated.
  void count(Tally& tally) const;

 private:
  enum class Recording : std::uint8_t { nothing, block, round };

  Recorder& recorder();
  bool knows_state(WalkPlace& place, std::uint32_t segment, const Block& block);
  void finish_round(Block& block, WalkPlace& place, std::int64_t t, const Tally& tally);
  std::int64_t repeat_rounds(Block& block, WalkPlace& place, std::int64_t t, Tally& tally);

  LaunchRepeats& all_;
  const GridLaunch& launch_;
  const Allocations& memory_;
  std::unique_ptr<Recorder> recorder_;
  Recording recording_ = Recording::nothing;                 ///< Of the block that runs.
  WalkPlace* from_ = nullptr;                                ///< Where the round started,
  std::int64_t from_row_ = 0;                                ///< and at which row.
  std::unordered_map<std::uint32_t, std::uint64_t> visits_;  ///< Of the block that runs, by segment.
  WalkState::Values values_;
  std::unordered_map<std::uint32_t, WalkState::Values> earlier_;  ///< Of that block, at its first looks.
  std::vector<std::byte> scratch_;
  std::unordered_map<const Record*, std::uint64_t> repeated_;
};

}  // namespace softmax_dispatch::sim
