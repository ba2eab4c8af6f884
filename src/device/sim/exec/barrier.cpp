// Barriers of the block, and what it means when nobody can go on.
#include <algorithm>

#include "device/sim/exec/executor.hpp"

namespace softmax_dispatch::sim {

std::uint32_t Executor::barrier_number(LaneMask mask, const Sync& sync) const {
  const int first = std::countr_zero(mask);
  const auto number = static_cast<std::uint32_t>(lane_value(sync.b, 4, first));
  if ((sync.b & kConstantBit) == 0)
    for_each_lane(mask, [&](int lane) {
      if (lane_value(sync.b, 4, lane) != number) fault(lane, "lanes of a warp wait at barriers of different numbers");
    });
  if (number >= kBarriers) fault(first, fmt::format("barrier {}: a block has barriers 0 to {}", number, kBarriers - 1));
  return number;
}

/// The path waits, unless it only says that it has arrived, or was the last.
void Executor::barrier(int path, const Sync& sync) {
  Path& one = warp_->paths()[static_cast<std::size_t>(path)];
  if (sync.aligned && one.mask != warp_->alive()) {
    one.state = PathState::at_barrier;
    return warps_at_barrier();
  }
  const LaneMask mask = one.mask;
  one.state = PathState::in_barrier;
  arrive(mask, sync);
}

/// When all lanes of the warp that are left wait at one barrier, though on several paths, the warp has arrived.
void Executor::warps_at_barrier() {
  LaneMask waiting = 0;
  const Path* first = nullptr;
  for (const Path& path : warp_->paths()) {
    if (path.state != PathState::at_barrier) continue;
    waiting |= path.mask;
    if (first != nullptr && first->segment != path.segment) {
      instruction_ = program_.segments[path.segment].end.instruction;
      fault(std::countr_zero(path.mask),
            fmt::format("barrier not reached by all threads: lanes of the same warp wait at another one, {}",
                        program_.describe(program_.segments[first->segment].end.instruction)));
    }
    if (first == nullptr) first = &path;
  }
  if (first == nullptr || waiting != warp_->alive()) return;
  const Terminator& end = program_.segments[first->segment].end;
  instruction_ = end.instruction;
  for (Path& path : warp_->paths()) {
    if (path.state == PathState::at_barrier) path.state = PathState::in_barrier;
  }
  arrive(waiting, program_.syncs[end.sync]);
}

void Executor::arrive(LaneMask lanes, const Sync& sync) {
  const std::uint32_t number = barrier_number(lanes, sync);
  const int first = std::countr_zero(lanes);
  Barrier& barrier = block_->barriers()[number];
  // A barrier for a number of threads counts warps as 32, whatever lanes are left of them.
  const bool counted = sync.c != kNoRef;
  const std::uint32_t expected = counted ? static_cast<std::uint32_t>(lane_value(sync.c, 4, first)) : launch_.block;
  if (counted && (expected == 0 || expected % lanes::kLanes != 0 || expected > (launch_.block + 31) / 32 * 32)) {
    fault(first, fmt::format("barrier for {} threads: must be a multiple of 32, up to the block's {}", expected,
                             launch_.block));
  }
  if (barrier.expected != 0 && barrier.expected != expected) {
    fault(first,
          fmt::format("barrier {} for {} threads, where others wait for {}", number, expected, barrier.expected));
  }
  barrier.expected = expected;
  const auto here = static_cast<std::uint32_t>(std::popcount(lanes));
  barrier.arrived += counted && sync.aligned ? std::uint32_t{lanes::kLanes} : here;
  barrier.warps |= std::uint32_t{1} << warp_->index();
  if (sync.mode >= SyncMode::barrier_count) {
    for_each_lane(lanes, [&](int lane) { barrier.count += lane_value(sync.source, 4, lane) != 0 ? 1u : 0u; });
    barrier.reduced += here;
  }
  if (sync.mode == SyncMode::barrier_arrive) {
    for (std::size_t i = 0; i < warp_->paths().size(); ++i) {
      const Path& path = warp_->paths()[i];
      if (path.state == PathState::in_barrier && (path.mask & lanes) != 0)
        warp_->advance(static_cast<int>(i), program_.segments[path.segment].end.next);
    }
  }
  if (barrier.arrived > expected)
    fault(first,
          fmt::format("barrier {}: {} threads arrived where {} were expected", number, barrier.arrived, expected));
  if (barrier.arrived == expected) open(number);
}

/// A wait for the grids ahead holds for the whole block once its threads have met.
void Executor::share_waits() {
  const auto& warps = block_->warps();
  if (std::none_of(warps.begin(), warps.end(), [](const Warp& warp) { return warp.waited() != 0; })) return;
  for (Warp& warp : block_->warps()) warp.wait_for_grids(kAllLanes);
}

/// Everyone who waits at the barrier goes on.
void Executor::open(std::uint32_t number) {
  Warp* const arriving = warp_;
  if (checks_waits_) share_waits();
  const Barrier barrier = block_->barriers()[number];
  block_->barriers()[number] = {};
  for (Warp& warp : block_->warps()) {
    warp_ = &warp;
    bases_[0] = warp.registers();
    for (std::size_t i = 0; i < warp.paths().size(); ++i) {
      const Path path = warp.paths()[i];
      if (path.state != PathState::in_barrier) continue;
      const Terminator& end = program_.segments[path.segment].end;
      const Sync& sync = program_.syncs[end.sync];
      if (lane_value(sync.b, 4, std::countr_zero(path.mask)) != number) continue;
      if (sync.result != kNoRef) {
        const std::uint32_t value = sync.mode == SyncMode::barrier_count ? barrier.count
                                    : sync.mode == SyncMode::barrier_all ? as_flag(barrier.count == barrier.reduced)
                                                                         : as_flag(barrier.count > 0);
        for_each_lane(path.mask, [&](int lane) { set_lane(sync.result, 4, lane, value); });
      }
      warp.advance(static_cast<int>(i), end.next);
    }
    if (barrier.warps >> warp.index() & 1) warp.synchronised(warp.alive());
  }
  if (checks_) block_->shared().synchronised(barrier.warps);
  if (block_->timeline() != nullptr) block_->timeline()->barrier(barrier.warps);
  warp_ = arriving;
  bases_[0] = warp_->registers();
  if (repeater_ == nullptr) return;
  passed_ = common_segment();
  if (passed_ != kNoSegment) budget_ = 0;  // run() tells of it before anybody goes on
}

/// The segment at which all threads of the block are, none waiting for another; kNoSegment where there is none.
std::uint32_t Executor::common_segment() const noexcept {
  std::uint32_t common = kNoSegment;
  for (const Warp& warp : block_->warps()) {
    const Path* only = nullptr;
    for (const Path& path : warp.paths()) {
      if (path.state == PathState::unused) continue;
      if (only != nullptr) return kNoSegment;
      only = &path;
    }
    if (only == nullptr || only->state != PathState::ready || only->mask != kAllLanes || only->parent >= 0)
      return kNoSegment;
    if (common != kNoSegment && common != only->segment) return kNoSegment;
    common = only->segment;
  }
  return common;
}

/// Every living lane of the block waits, and nobody is left who could let it go on. Named is one that waits for lanes
/// of its warp, if there is one: others may wait at a barrier because of it.
void Executor::stuck() {
  const Path* found = nullptr;
  std::uint32_t finished = 0;
  for (Warp& warp : block_->warps()) {
    finished += static_cast<std::uint32_t>(std::popcount(warp.lanes() & ~warp.alive()));
    for (const Path& path : warp.paths()) {
      const bool waits = path.state != PathState::unused && path.state != PathState::joining;
      const bool better =
          found == nullptr || (found->state != PathState::at_warp_sync && path.state == PathState::at_warp_sync);
      if (!waits || !better) continue;
      found = &path;
      warp_ = &warp;
    }
  }
  std::uint32_t here = 0, elsewhere = 0;
  for (const Warp& warp : block_->warps()) {
    for (const Path& path : warp.paths()) {
      if (path.state == PathState::unused || path.state == PathState::joining) continue;
      (path.segment == found->segment ? here : elsewhere) += static_cast<std::uint32_t>(std::popcount(path.mask));
    }
  }
  const Terminator& end = program_.segments[found->segment].end;
  instruction_ = end.instruction;
  fault(std::countr_zero(found->mask),
        fmt::format("{} not reached by all threads: {} of the block's {} threads wait here, {} wait elsewhere, {} have "
                    "finished",
                    found->state == PathState::at_warp_sync ? "warp synchronisation" : "barrier", here, launch_.block,
                    elsewhere, finished));
}

void Executor::deadlock(const std::vector<std::unique_ptr<Block>>& blocks) {
  constexpr std::size_t kMostNamed = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(blocks.size(), kMostNamed); ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", blocks[i]->index());
  if (blocks.size() > kMostNamed) names += ", ...";
  block_ = blocks.front().get();
  for (Warp& warp : block_->warps()) {
    for (const Path& path : warp.paths()) {
      if (path.state != PathState::ready) continue;
      warp_ = &warp;
      instruction_ = program_.segments[path.segment].end.instruction;
      fault(std::countr_zero(path.mask),
            fmt::format(
                "deadlock: {} of the grid's {} blocks are on the device and wait for something that no block will "
                "ever write; blocks {}",
                blocks.size(), launch_.grid, names));
    }
  }
  stuck();
}

}  // namespace softmax_dispatch::sim
