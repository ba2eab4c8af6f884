#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "device/sim/exec/block.hpp"

namespace softmax_dispatch::sim {

/// How far a launch is, for all its host threads: which blocks have started, how many are on the device, whether one
/// has failed, and whether anybody can still change anything.
class Progress {
 public:
  Progress(unsigned workers, std::uint64_t resident_limit);

  std::uint64_t started() const noexcept { return next_.load(); }
  std::uint64_t next() noexcept { return next_.fetch_add(1); }

  /// Takes a place on the device for one more block; false where there is none.
  bool enter() noexcept;
  void leave() noexcept { resident_.fetch_sub(1); }
  bool has_place() const noexcept { return resident_.load() < resident_limit_; }

  /// A block failed. True where none before it in the order had.
  bool fault(std::uint64_t order) noexcept;
  std::uint64_t fault_order() const noexcept { return fault_order_.load(); }

  void begin(unsigned worker) noexcept { workers_[worker].state.store(kRuns); }
  void done(unsigned worker) noexcept { workers_[worker].state.store(kDone); }
  void moved(unsigned worker) noexcept { workers_[worker].state.store(kRuns); }
  void note_effects(unsigned worker, std::uint64_t effects) noexcept { workers_[worker].effects.store(effects); }
  /// Stores and changing atomics of all workers so far.
  std::uint64_t effects() const noexcept;
  /// None of the worker's blocks will ever change anything unless another one does; they have looked at what there was
  /// after `effects`, and not at what came later. True where that holds for all workers.
  bool stalled(unsigned worker, std::uint64_t effects) noexcept;

 private:
  static constexpr std::uint64_t kRuns = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint64_t kDone = kRuns - 1;
  struct alignas(64) Worker {
    std::atomic<std::uint64_t> effects{0};
    std::atomic<std::uint64_t> state{kDone};  ///< kRuns, kDone, or the effects of all at which it stalled.
  };

  std::vector<Worker> workers_;
  std::atomic<std::uint64_t> next_{0}, resident_{0};
  std::atomic<std::uint64_t> fault_order_{std::numeric_limits<std::uint64_t>::max()};
  std::uint64_t resident_limit_;
};

/// Sees that blocks repeat themselves: while nobody stores anything, a state that comes back comes back for ever.
/// (Brent's way to find a cycle: compare with a state kept from ever longer ago.) Blocks that count how often they have
/// looked have ever new states: those are taken to wait in vain after some ten million looks.
class Watch {
 public:
  void moved() noexcept { *this = {}; }
  /// Call after each round of turns. `effects`: of all workers; `polls`: of the blocks in this round.
  bool repeats(const std::vector<std::unique_ptr<Block>>& blocks, std::uint64_t effects, std::uint64_t polls);

 private:
  std::uint64_t effects_ = 0, polls_ = 0;
  std::uint64_t quiet_rounds_ = 0, since_kept_ = 0, keep_after_ = 1;
  std::string kept_;
  bool found_ = false;
};

}  // namespace softmax_dispatch::sim
