// Instructions through which the lanes of a warp wait for each other and see each other's values.
#include <algorithm>
#include <cstring>

#include "device/sim/exec/executor.hpp"

namespace softmax_dispatch::sim {
namespace {

const char* name_of(SyncKind kind) {
  switch (kind) {
    case SyncKind::shuffle:
      return "shuffle";
    case SyncKind::vote:
      return "vote";
    case SyncKind::match:
      return "match";
    default:
      return "warp barrier";
  }
}

/// The lane that a shuffle reads from, as the PTX manual defines it; -1 where that is out of the segment, and the lane
/// keeps its own value.
int source_lane(SyncMode mode, int lane, std::uint32_t b, std::uint32_t c) {
  const int offset = static_cast<int>(b & 31), clamp = static_cast<int>(c & 31),
            segment = static_cast<int>((c >> 8) & 31);
  const int last = (lane & segment) | (clamp & ~segment), first = lane & segment;
  switch (mode) {
    case SyncMode::shuffle_up:
      return lane - offset >= last ? lane - offset : -1;
    case SyncMode::shuffle_down:
      return lane + offset <= last ? lane + offset : -1;
    case SyncMode::shuffle_butterfly:
      return (lane ^ offset) <= last ? lane ^ offset : -1;
    default: {
      const int wanted = first | (offset & ~segment);
      return wanted <= last ? wanted : -1;
    }
  }
}

}  // namespace

/// Lanes that perform one operation together; of each lane the path it is on.
struct Executor::Taking {
  LaneMask lanes = 0;
  SyncKind kind = SyncKind::warp_barrier;
  SyncMode mode = SyncMode::none;
  std::array<const Sync*, lanes::kLanes> of{};
  std::array<std::uint32_t, lanes::kLanes> instruction{};
};

/// Values are read before any is written: a result's slot may be another's source.
void Executor::exchange(const Taking& taking) {
  std::array<std::uint64_t, lanes::kLanes> source{}, result{};
  std::array<std::uint32_t, lanes::kLanes> predicate{};
  const auto each = [&](auto f) {
    for_each_lane(taking.lanes, [&](int lane) { f(lane, static_cast<std::size_t>(lane)); });
  };
  each([&](int lane, std::size_t i) {
    if (taking.of[i]->source != kNoRef) source[i] = lane_value(taking.of[i]->source, taking.of[i]->source_bytes, lane);
  });
  LaneMask set = 0;
  each([&](int lane, std::size_t i) { set |= source[i] != 0 ? LaneMask{1} << lane : 0; });
  each([&](int lane, std::size_t i) {
    const Sync& sync = *taking.of[i];
    switch (taking.kind) {
      case SyncKind::shuffle: {
        const auto b = static_cast<std::uint32_t>(lane_value(sync.b, 4, lane));
        const auto c = static_cast<std::uint32_t>(lane_value(sync.c, 4, lane));
        const int from = source_lane(taking.mode, lane, b, c);
        predicate[i] = as_flag(from >= 0);
        result[i] = source[from >= 0 ? static_cast<std::size_t>(from) : i];
        if (from >= 0 && (taking.lanes >> from & 1) == 0) {
          instruction_ = taking.instruction[i];
          fault(lane, fmt::format("shuffle reads lane {}, which does not take part", from));
        }
        break;
      }
      case SyncKind::vote:
        result[i] = taking.mode == SyncMode::vote_all       ? as_flag(set == taking.lanes)
                    : taking.mode == SyncMode::vote_any     ? as_flag(set != 0)
                    : taking.mode == SyncMode::vote_uniform ? as_flag(set == 0 || set == taking.lanes)
                                                            : set;
        break;
      case SyncKind::match: {
        LaneMask same = 0;
        each([&](int other, std::size_t j) { same |= source[j] == source[i] ? LaneMask{1} << other : 0; });
        const bool all = same == taking.lanes;
        result[i] = taking.mode == SyncMode::match_any || all ? same : 0;
        predicate[i] = as_flag(all);
        break;
      }
      default:
        break;
    }
  });
  each([&](int lane, std::size_t i) {
    const Sync& sync = *taking.of[i];
    if (sync.result != kNoRef) set_lane(sync.result, 4, lane, result[i]);
    if (sync.predicate != kNoRef) set_lane(sync.predicate, 4, lane, predicate[i]);
  });
  warp_->synchronised(taking.lanes);
}

void Executor::plan_shuffles() {
  for (const Sync& sync : program_.syncs) {
    ShufflePlan& plan = shuffles_.emplace_back();
    const bool constant = (sync.b & sync.c & sync.mask & kConstantBit) != 0;
    if (sync.kind != SyncKind::shuffle || !constant) continue;
    plan.usable = static_cast<LaneMask>(lane_value(sync.mask, 4, 0)) == kAllLanes;
    const auto b = static_cast<std::uint32_t>(lane_value(sync.b, 4, 0));
    const auto c = static_cast<std::uint32_t>(lane_value(sync.c, 4, 0));
    for (int lane = 0; lane < lanes::kLanes; ++lane) {
      const int from = source_lane(sync.mode, lane, b, c);
      plan.from[static_cast<std::size_t>(lane)] = static_cast<std::uint8_t>(from >= 0 ? from : lane);
      plan.in_range[static_cast<std::size_t>(lane)] = as_flag(from >= 0);
    }
  }
}

/// The usual shuffle. False where it is another.
bool Executor::whole_warp_shuffle(std::uint32_t index) {
  const ShufflePlan& plan = shuffles_[index];
  if (!plan.usable || mask_ != kAllLanes) return false;
  const Sync& sync = program_.syncs[index];
  std::array<std::uint32_t, lanes::kLanes> source, result;
  std::memcpy(source.data(), read(sync.source), sizeof source);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = source[plan.from[i]];
  std::memcpy(write(sync.result), result.data(), sizeof result);
  if (sync.predicate != kNoRef) std::memcpy(write(sync.predicate), plan.in_range.data(), sizeof plan.in_range);
  warp_->synchronised(kAllLanes);
  return true;
}

/// True where the path's lanes are all that the instruction is for: it is done. Otherwise the path waits.
bool Executor::warp_sync(int path, std::uint32_t index) {
  if (whole_warp_shuffle(index)) return true;
  const Sync& sync = program_.syncs[index];
  if (sync.kind == SyncKind::activemask) {
    for_each_lane(mask_, [&](int lane) { set_lane(sync.result, 4, lane, mask_); });
    return true;
  }
  bool together = true;
  for_each_lane(mask_, [&](int lane) {
    const auto members = static_cast<LaneMask>(lane_value(sync.mask, 4, lane));
    if ((members >> lane & 1) == 0) {
      fault(lane, fmt::format("{} whose mask {:#010x} does not name the lane that executes it, {}", name_of(sync.kind),
                              members, lane));
    }
    together = together && (members & warp_->alive()) == mask_;
  });
  if (together) {
    Taking taking{.lanes = mask_, .kind = sync.kind, .mode = sync.mode};
    taking.of.fill(&sync);
    taking.instruction.fill(instruction_);
    exchange(taking);
    return true;
  }
  warp_->paths()[static_cast<std::size_t>(path)].state = PathState::at_warp_sync;
  complete_warp_syncs();
  return false;
}

void Executor::complete_warp_syncs() {
  while (complete_one_warp_sync()) {
  }
}

/// Looks for lanes that wait with one mask, in one kind of instruction, and are all the living lanes of that mask.
bool Executor::complete_one_warp_sync() {
  std::array<LaneMask, lanes::kLanes> members{};
  Taking waiting;
  for (const Path& path : warp_->paths()) {
    if (path.state != PathState::at_warp_sync) continue;
    const Terminator& end = program_.segments[path.segment].end;
    const Sync& sync = program_.syncs[end.sync];
    for_each_lane(path.mask & ~path.passed, [&](int lane) {
      const auto i = static_cast<std::size_t>(lane);
      waiting.lanes |= LaneMask{1} << lane;
      waiting.of[i] = &sync;
      waiting.instruction[i] = end.instruction;
      members[i] = static_cast<LaneMask>(lane_value(sync.mask, 4, lane));
    });
  }
  for (LaneMask rest = waiting.lanes; rest != 0;) {
    const auto first = static_cast<std::size_t>(std::countr_zero(rest));
    LaneMask group = 0;
    for_each_lane(rest, [&](int lane) {
      const auto i = static_cast<std::size_t>(lane);
      const bool alike = members[i] == members[first] && waiting.of[i]->kind == waiting.of[first]->kind &&
                         waiting.of[i]->mode == waiting.of[first]->mode;
      if (alike) group |= LaneMask{1} << lane;
    });
    rest &= ~group;
    if (group != (members[first] & warp_->alive())) continue;
    waiting.lanes = group;
    waiting.kind = waiting.of[first]->kind;
    waiting.mode = waiting.of[first]->mode;
    exchange(waiting);
    for (std::size_t i = 0; i < warp_->paths().size(); ++i) {
      Path& path = warp_->paths()[i];
      if (path.state != PathState::at_warp_sync) continue;
      path.passed |= path.mask & group;
      if (path.passed == path.mask) warp_->advance(static_cast<int>(i), program_.segments[path.segment].end.next);
    }
    return true;
  }
  return false;
}

}  // namespace softmax_dispatch::sim
