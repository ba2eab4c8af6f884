#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "dispatch/backend.hpp"

namespace softmax_dispatch::runtime {

/// Workspaces of the launches on one device. A workspace belongs to a stream or to one stream of one captured graph,
/// never to two at once, so that its launches follow one another. Streams are known by ids that are never used again: a
/// new stream with the handle of a destroyed one, whose work may still run, gets another workspace.
///
/// A stream has its workspace for good, and so have the first captures. Later ones have theirs until the graph is
/// destroyed, which an object in the graph tells: with it each launch of the graph takes 1.3 us longer on an H200.
///
/// Thread-safe. find() takes no lock and allocates nothing; it takes one of the spare workspaces that reserve() left
/// where the stream (or the capture) has none yet.
class Workspaces {
 public:
  /// Workspaces that reserve() leaves to streams and to captures that have none yet: to captures for good first, then
  /// on loan. A program that serves captures a graph for each of its batch sizes, often some dozens.
  static constexpr std::size_t kStreamSpares = 8, kCaptureSpares = 32, kLoanSpares = 32;
  /// Workspaces of a device that captures may have for good.
  static constexpr std::size_t kMostOfCaptures = 128;
  /// Of all spares of a kind, unless one alone is larger.
  static constexpr std::int64_t kMostSpareBytes = std::int64_t{64} << 20;
  /// Workspaces that a device has at most.
  static constexpr std::size_t kMost = 512;

  /// Both must outlive it.
  Workspaces(Backend& backend, Device& device);
  /// Frees the memory. No graph that captured a launch may be left.
  ~Workspaces();
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;

  /// The workspace of at least `bytes` of the stream, or of the capture under way in it; 0 where it has none and none
  /// is spare. Throws Error(device).
  DevicePtr find(Stream stream, std::int64_t bytes);

  /// Cold: the workspace of the stream, which is not being captured, allocated where there is none; spares for other
  /// streams and for captures, as many as there should be. 0 where the device has kMost already. Throws Error(device).
  DevicePtr reserve(Stream stream, std::int64_t bytes);

  /// Whether no more can be allocated: what find() does not give, reserve() does not either.
  bool full() const noexcept { return slots_->count.load(std::memory_order_acquire) == kMost; }

 private:
  /// Who may take a spare.
  enum class Purpose : std::uint8_t { stream, capture, loan };

  struct Slots;
  struct Slot {
    // Never changed once the slot is published by Slots::count.
    DevicePtr pointer = 0;
    std::int64_t bytes = 0;
    std::uint64_t context = 0;
    Purpose purpose = Purpose::stream;

    /// Whose it is: kSpare, kTaking, or the stream's id + kFirst. Says so after `capture` does.
    std::atomic<std::uint64_t> owner{kSpare};
    std::atomic<std::uint64_t> capture{0};
    /// While a graph has it on loan: the graph may be destroyed after the dispatcher.
    std::shared_ptr<Slots> keeper;
  };
  struct Slots {
    std::array<Slot, kMost> all;
    std::atomic<std::size_t> count{0};  ///< That exist.
  };
  static constexpr std::uint64_t kSpare = 0, kTaking = 1, kFirst = 2;

  static bool belongs(const Slot& slot, const StreamUse& use) noexcept;
  static bool take(Slot& slot, const StreamUse& use) noexcept;
  /// Takes a spare; nullptr where there is none.
  Slot* take_spare(Purpose purpose, const StreamUse& use, std::int64_t bytes, std::uint64_t context,
                   std::size_t count) noexcept;
  /// A graph that had the slot on loan is destroyed.
  static void give_back(void* slot) noexcept;
  std::size_t number_of(Purpose purpose) const noexcept;
  void add(Purpose purpose, std::int64_t bytes, std::uint64_t context, std::size_t wanted);

  Backend& backend_;
  Device& device_;
  std::shared_ptr<Slots> slots_;
  std::mutex mutex_;  ///< Of reserve(), and of what follows.
  std::vector<DevicePtr> allocations_;
};

}  // namespace softmax_dispatch::runtime
