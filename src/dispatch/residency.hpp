#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "support/geometry.hpp"

namespace softmax_dispatch::runtime {

/// What is known of how many blocks of one kernel its device holds at once: for a warm call, which cannot ask the
/// driver. Any number of threads may ask while one notes.
class Residency {
 public:
  enum class Answer : std::uint8_t { fits, does_not_fit, unknown };

  /// Whether the blocks that must be on the device together are.
  Answer ask(const Geometry& geometry) const noexcept;

  /// The device holds `resident` blocks of geometry's block, shared memory and cluster.
  void note(const Geometry& geometry, std::int64_t resident) noexcept;

 private:
  /// Kernels have few shapes of block; where there are more, what cannot be known does not fit.
  static constexpr std::size_t kMost = 16;

  struct Known {
    std::atomic<std::uint64_t> shape{0};  ///< 0: none. Says so after `resident` does.
    std::atomic<std::int64_t> resident{0};
  };
  std::array<Known, kMost> known_;
};

}  // namespace softmax_dispatch::runtime
