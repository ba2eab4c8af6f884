#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/sim/program/program.hpp"

namespace softmax_dispatch::sim {

using LaneMask = std::uint32_t;
inline constexpr LaneMask kAllLanes = 0xffffffff;

/// Calls f(lane) for each lane of the mask, ascending.
template <typename F>
void for_each_lane(LaneMask mask, F f) {
  for (; mask != 0; mask &= mask - 1) f(std::countr_zero(mask));
}

/// As a predicate's register holds it.
constexpr std::uint32_t as_flag(bool value) noexcept {
  return value ? ~std::uint32_t{0} : 0;
}

enum class PathState : std::uint8_t {
  unused,
  ready,
  joining,       ///< Waits for the lanes that parted here to arrive where they meet again.
  at_warp_sync,  ///< Waits at the end of its segment for other lanes of the warp.
  at_barrier,    ///< Waits for the rest of the warp, at a barrier that the whole warp must execute together.
  in_barrier     ///< Has arrived at a barrier of the block.
};

/// Lanes of a warp that are at the same place.
struct Path {
  PathState state = PathState::unused;
  LaneMask mask = 0;
  std::uint32_t segment = 0;              ///< To run next; of a waiting path the one at whose end it waits.
  std::uint32_t reconverge = kNoSegment;  ///< There it ends and its parent goes on.
  std::int32_t parent = -1;
  std::uint32_t children = 0;  ///< Of a joining path.
  LaneMask passed = 0;         ///< Lanes whose part of a warp synchronisation is done.
};

/// 32 threads. Where its lanes part, the paths form a tree whose leaves may run in any order: a leaf that has to wait
/// for others lets them go first, which is the independent progress that compute capability 7.0 and newer have. A leaf
/// that reaches the immediate post-dominator of the branch where it parted joins there.
class Warp {
 public:
  /// All lanes at the start of the program.
  void reset(std::uint32_t index, LaneMask lanes, std::byte* registers);

  std::uint32_t index() const noexcept { return index_; }
  LaneMask lanes() const noexcept { return lanes_; }  ///< That exist.
  LaneMask alive() const noexcept { return alive_; }  ///< That have not finished.
  std::byte* registers() const noexcept { return registers_; }
  std::vector<Path>& paths() noexcept { return paths_; }
  const std::vector<Path>& paths() const noexcept { return paths_; }

  /// A path that can run, or -1. The one that ran last, if it still can.
  int pick() noexcept;
  /// Lets the next path that can run have its turn.
  void rotate() noexcept;

  /// The path's lanes part: those of `taken` go to `target`, the rest to `next`.
  void diverge(int path, LaneMask taken, std::uint32_t target, std::uint32_t next, std::uint32_t reconverge);
  /// The path goes on at the segment, or joins its parent if that is where they meet.
  void advance(int path, std::uint32_t segment);
  /// Lanes that have arrived where they meet others go on without them. Whether there were any.
  bool release_joins();
  /// The path's lanes have finished.
  void finish(int path);

  /// Whether two lanes took part in a warp synchronisation after `tick`.
  bool ordered(int a, int b, std::uint32_t tick) const noexcept {
    return lane_tick_[static_cast<std::size_t>(a)] > tick && lane_tick_[static_cast<std::size_t>(b)] > tick;
  }
  std::uint32_t tick() const noexcept { return tick_; }
  void synchronised(LaneMask lanes) noexcept;

  /// Lanes that know that the grids ahead of this one are done.
  LaneMask waited() const noexcept { return waited_; }
  void wait_for_grids(LaneMask lanes) noexcept { waited_ |= lanes; }

 private:
  int new_path();
  void leave_parent(std::int32_t parent, LaneMask arrived);

  std::uint32_t index_ = 0;
  LaneMask lanes_ = 0, alive_ = 0, waited_ = 0;
  std::byte* registers_ = nullptr;
  std::vector<Path> paths_;
  int current_ = 0;
  std::uint32_t tick_ = 0;
  std::array<std::uint32_t, lanes::kLanes> lane_tick_{};
};

}  // namespace softmax_dispatch::sim
