#include "device/sim/exec/warp.hpp"

namespace softmax_dispatch::sim {

void Warp::reset(std::uint32_t index, LaneMask lanes, std::byte* registers) {
  index_ = index;
  lanes_ = alive_ = lanes;
  waited_ = 0;
  registers_ = registers;
  paths_.clear();
  paths_.push_back({.state = PathState::ready, .mask = lanes});
  current_ = 0;
  tick_ = 0;
  lane_tick_.fill(0);
}

int Warp::pick() noexcept {
  const int count = static_cast<int>(paths_.size());
  for (int i = 0; i < count; ++i) {
    const int candidate = (current_ + i) % count;
    if (paths_[static_cast<std::size_t>(candidate)].state == PathState::ready) return current_ = candidate;
  }
  return -1;
}

void Warp::rotate() noexcept {
  current_ = (current_ + 1) % static_cast<int>(paths_.size());
}

int Warp::new_path() {
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    if (paths_[i].state == PathState::unused) return static_cast<int>(i);
  }
  paths_.emplace_back();
  return static_cast<int>(paths_.size() - 1);
}

void Warp::diverge(int path, LaneMask taken, std::uint32_t target, std::uint32_t next, std::uint32_t reconverge) {
  const auto index = static_cast<std::size_t>(path);
  const Path before = paths_[index];
  const LaneMask rest = before.mask & ~taken;
  // Where the two sides meet only where the path ends anyway, they are both children of its parent.
  const bool siblings = reconverge == kNoSegment || reconverge == before.reconverge;
  const int first = siblings ? path : new_path();
  paths_[static_cast<std::size_t>(first)].state = PathState::ready;  // taken, before the second is looked for
  const int second = new_path();
  const std::int32_t parent = siblings ? before.parent : path;
  const std::uint32_t end = siblings ? before.reconverge : reconverge;
  paths_[static_cast<std::size_t>(first)] = {
      .state = PathState::ready, .mask = taken, .reconverge = end, .parent = parent};
  paths_[static_cast<std::size_t>(second)] = {
      .state = PathState::ready, .mask = rest, .reconverge = end, .parent = parent};
  if (!siblings) {
    Path& join = paths_[index];
    join.state = PathState::joining;
    join.mask = 0;
    join.segment = reconverge;
    join.children = 2;
  } else if (parent >= 0) {
    ++paths_[static_cast<std::size_t>(parent)].children;
  }
  current_ = second;
  advance(first, target);
  advance(second, next);
}

void Warp::advance(int path, std::uint32_t segment) {
  Path& one = paths_[static_cast<std::size_t>(path)];
  one.segment = segment;
  one.state = PathState::ready;
  one.passed = 0;
  if (segment != one.reconverge) return;
  one.state = PathState::unused;
  leave_parent(one.parent, one.mask);
}

bool Warp::release_joins() {
  bool any = false;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    if (paths_[i].state != PathState::joining || paths_[i].mask == 0) continue;
    any = true;
    const Path join = paths_[i];
    paths_[i].mask = 0;
    if (join.parent >= 0) ++paths_[static_cast<std::size_t>(join.parent)].children;
    const int early = new_path();
    paths_[static_cast<std::size_t>(early)] = {.state = PathState::ready,
                                               .mask = join.mask,
                                               .segment = join.segment,
                                               .reconverge = join.reconverge,
                                               .parent = join.parent};
  }
  return any;
}

void Warp::finish(int path) {
  Path& one = paths_[static_cast<std::size_t>(path)];
  alive_ &= ~one.mask;
  one.state = PathState::unused;
  leave_parent(one.parent, 0);
}

/// One child less; when it was the last, the parent goes on with the lanes that arrived, or is gone with them.
void Warp::leave_parent(std::int32_t parent, LaneMask arrived) {
  while (parent >= 0) {
    Path& join = paths_[static_cast<std::size_t>(parent)];
    join.mask |= arrived;
    if (--join.children > 0) return;
    if (join.mask != 0) return advance(parent, join.segment);
    join.state = PathState::unused;
    parent = join.parent;
    arrived = 0;
  }
}

void Warp::synchronised(LaneMask lanes) noexcept {
  ++tick_;
  if (lanes == kAllLanes) return lane_tick_.fill(tick_);
  for_each_lane(lanes, [&](int lane) { lane_tick_[static_cast<std::size_t>(lane)] = tick_; });
}

}  // namespace softmax_dispatch::sim
