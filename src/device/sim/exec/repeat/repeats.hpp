#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "device/sim/exec/repeat/record.hpp"

namespace softmax_dispatch::sim {

/// What blocks of a launch did, for others that will do the same: a block whose loads find the same bytes at the
/// addresses that are its own, and that the record reaches, stores the same bytes and counts the same. Nothing is
/// assumed: bounds, alignment and initialisation are looked at for each block, and where one is not as it should be the
/// block is executed. Thread-safe.
class Repeats {
 public:
  explicit Repeats(bool checks) : checks_(checks) {}

  /// Whether another record may be worth its time: they are, until many were made and nothing was like them.
  bool wanted() const noexcept { return wanted_.load(std::memory_order_relaxed); }
  /// There is no record, and none is wanted.
  bool in_vain() const noexcept { return !wanted() && records_.load(std::memory_order_relaxed) == 0; }
  void add(Record record);
  /// The block could not be recorded.
  void add_failure() noexcept;

  /// The record that t repeats, or null.
  const Record* find(std::int64_t t, std::vector<std::byte>& scratch);
  /// Stores what it did, for t, and counts the sectors that depend on t: the record's own tally is left to the caller.
  /// False where that cannot be; then nothing was done.
  bool apply(const Record& record, std::int64_t t, Tally& tally) const;

 private:
  /// Records that read at the same places.
  struct Plan {
    std::int64_t t = 0;
    int multiple_bits = 0;
    std::vector<Run> loads;
    std::size_t bytes = 0;
    std::unordered_multimap<std::uint64_t, std::unique_ptr<const Record>> records;  ///< By the hash of what they read.
  };

  bool gather(const Plan& plan, std::int64_t distance, std::vector<std::byte>& bytes) const;
  static bool same_plan(const Plan& plan, const Record& record);

  bool checks_;
  std::shared_mutex mutex_;
  std::vector<std::unique_ptr<Plan>> plans_;
  std::atomic<std::size_t> records_{0};
  std::atomic<std::uint64_t> found_{0}, failures_{0};
  std::atomic<bool> wanted_{true};
};

}  // namespace softmax_dispatch::sim
