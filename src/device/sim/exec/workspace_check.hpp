#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "device/device.hpp"

namespace softmax_dispatch::sim {

/// Finds what blocks of one grid do to each other through a workspace without an order: a read of what another block
/// has not published yet, a write of what another one may still read. Each block has a vector clock. A strong store
/// (volatile, relaxed, release) publishes all that its block did before, a strong load takes over what was published at
/// its address, an atomic does both; that a relaxed access has its fence is not checked, nor are threads of one block.
class WorkspaceCheck {
 public:
  /// Grids of more blocks don't talk through a workspace: nothing is looked for there.
  static constexpr std::uint64_t kMostBlocks = 2048;

  WorkspaceCheck(DevicePtr base, std::int64_t bytes, std::uint64_t blocks);

  bool holds(std::uint64_t address) const noexcept { return address >= base_ && address - base_ < bytes_; }
  /// To be held from before the checks of an access until it is done.
  std::unique_lock<std::mutex> hold() { return std::unique_lock<std::mutex>(mutex_); }

  /// "" or what the access is not ordered after, e.g. "a write of block 3".
  std::string load(std::uint64_t block, std::uint64_t address, unsigned bytes, bool strong);
  std::string store(std::uint64_t block, std::uint64_t address, unsigned bytes, bool strong);
  void atomic(std::uint64_t block, std::uint64_t address);

 private:
  using Clock = std::vector<std::uint32_t>;
  /// A moment of a block; at 0 there was none.
  struct Moment {
    std::uint32_t block = 0, at = 0;
  };
  struct Word {
    Moment written;
    bool strong = false;        ///< Of the write.
    std::vector<Moment> reads;  ///< Weak ones since it was written, the last of each block.
  };

  Clock& clock(std::uint64_t block);
  Moment now(std::uint64_t block);
  bool before(const Moment& moment, std::uint64_t block);
  static void join(Clock& into, const Clock& from);
  void publish(std::uint64_t block, std::uint64_t word);
  void take_over(std::uint64_t block, std::uint64_t word);

  DevicePtr base_;
  std::uint64_t bytes_, blocks_;
  std::mutex mutex_;
  std::vector<Word> words_;
  std::vector<Clock> clocks_;                    ///< Of each block, made when it is first asked for.
  std::map<std::uint64_t, Clock> publications_;  ///< Of the words that were stored to strongly.
};

}  // namespace softmax_dispatch::sim
