#include "device/sim/exec/executor.hpp"

#include <utility>

namespace softmax_dispatch::sim {
namespace {

constexpr std::int64_t kWarpTurn = 1 << 13;   // steps until another warp has its turn
constexpr std::int64_t kBlockTurn = 1 << 18;  // steps until another block has its turn

}  // namespace

Executor::Executor(const GridLaunch& launch, const Allocations& memory, bool checks, const std::byte* constants)
    : launch_(launch),
      program_(*launch.program),
      memory_(memory),
      helpers_(lanes::table().helpers),
      checks_(checks),
      checks_waits_(checks && launch.overlaps),
      tally_(program_),
      hints_(program_.accesses.size()),
      bases_{nullptr, constants} {
  plan_shuffles();
}

Turn Executor::run(Block& block) {
  block_ = &block;
  polls_ = 0;
  const std::uint64_t end = steps_ + kBlockTurn;
  for (;;) {
    bool ran = false;
    const std::size_t warps = block.warps().size();
    for (std::size_t i = 0; i < warps; ++i) {
      Warp& warp = block.warps()[(block.first_warp() + i) % warps];
      if (warp.pick() < 0) continue;
      ran = true;
      run_warp(block, warp);
      if (passed_ != kNoSegment) {
        recorder_ = repeater_->passed(block, std::exchange(passed_, kNoSegment), tally_);
        if (block.finished()) return Turn::finished;
      }
    }
    if (!ran) {
      if (block.finished()) return Turn::finished;
      // Lanes that wait for others may be what these wait for, further on.
      bool released = false;
      for (Warp& warp : block.warps()) released = warp.release_joins() || released;
      if (!released) stuck();
    }
    if (steps_ >= end || polls_ >= kPollsPerTurn) return block.finished() ? Turn::finished : Turn::ended;
  }
}

void Executor::run_warp(Block& block, Warp& warp) {
  block_ = &block;
  warp_ = &warp;
  bases_[0] = warp.registers();
  budget_ = kWarpTurn;
  const std::uint64_t polls_before = polls_, changes_before = changes_;
  while (budget_ > 0) {
    const int path = warp.pick();
    if (path < 0) return;
    run_path(path);
  }
  // Lanes that look at memory again and again may wait for lanes that wait for them to come together.
  if (polls_ != polls_before && changes_ == changes_before) warp.release_joins();
  warp.rotate();
}

void Executor::set_mask(LaneMask mask) {
  mask_ = mask;
  if (mask != kAllLanes) helpers_.expand(mask, mask_lanes_.data());
}

void Executor::run_path(int path) {
  set_mask(warp_->paths()[static_cast<std::size_t>(path)].mask);
  const auto lanes = static_cast<std::uint64_t>(std::popcount(mask_));
  do {
    const std::uint32_t index = warp_->paths()[static_cast<std::size_t>(path)].segment;
    const Segment& segment = program_.segments[index];
    ++tally_.segments[index];
    tally_.segment_lanes[index] += lanes;
    const std::int64_t steps = segment.last - segment.first + 1;
    budget_ -= steps;
    steps_ += static_cast<std::uint64_t>(steps);
    if (recorder_ == nullptr) {
      run_steps(segment);
    } else {
      run_recorded_steps(segment);
    }
    if (block_->timeline() != nullptr) block_->timeline()->segment(warp_->index(), index);
    if (!end_segment(path, segment)) return;
  } while (budget_ > 0);
}

void Executor::run_steps(const Segment& segment) {
  for (std::uint32_t i = segment.first; i < segment.last; ++i) {
    const Op& op = program_.ops[i];
    if (op.guard != kNoRef) {
      run_guarded(op, i);
    } else if (op.kind == OpKind::lanes) {
      run_lanes(op);
    } else {
      run_special(op);
    }
  }
}

/// The same, with the recorder told of each step first.
void Executor::run_recorded_steps(const Segment& segment) {
  for (std::uint32_t i = segment.first; i < segment.last; ++i) {
    const Op& op = program_.ops[i];
    const LaneMask passing = op.guard == kNoRef ? kAllLanes : helpers_.pack(read(op.guard));
    const LaneMask mask = mask_ & (op.guard_negated ? ~passing : passing);
    if (op.kind == OpKind::lanes && mask != 0) recorder_->lanes_step(i, *warp_, mask, bases_[1]);
    if (op.guard != kNoRef) {
      run_guarded(op, i);
    } else if (op.kind == OpKind::lanes) {
      run_lanes(op);
    } else {
      run_special(op);
    }
  }
}

inline void Executor::run_lanes(const Op& op) {
  if (mask_ == kAllLanes) {
    op.function(write(op.d), read(op.a), read(op.b), read(op.c), op.extra);
    return;
  }
  op.function(scratch_.data(), read(op.a), read(op.b), read(op.c), op.extra);
  (op.d_bytes == 8 ? helpers_.blend64 : helpers_.blend32)(write(op.d), scratch_.data(), mask_lanes_.data());
}

void Executor::run_guarded(const Op& op, std::uint32_t index) {
  const LaneMask passing = helpers_.pack(read(op.guard));
  const LaneMask before = mask_;
  const LaneMask mask = before & (op.guard_negated ? ~passing : passing);
  if (mask == 0) return;
  if (op.counts) {
    ++tally_.guarded[index];
    tally_.guarded_lanes[index] += static_cast<std::uint64_t>(std::popcount(mask));
  }
  set_mask(mask);
  if (op.kind == OpKind::lanes) {
    run_lanes(op);
  } else {
    run_special(op);
  }
  set_mask(before);
}

void Executor::run_special(const Op& op) {
  instruction_ = op.instruction;
  switch (op.kind) {
    case OpKind::load:
    case OpKind::store:
      return memory_op(op);
    case OpKind::atomic:
      return atomic_op(op);
    case OpKind::copy:
      return copy_op(op);
    case OpKind::clock:
      return clock(op);
    case OpKind::fence:
      return std::atomic_thread_fence(std::memory_order_seq_cst);
    case OpKind::grid_wait:
      return warp_->wait_for_grids(mask_);
    case OpKind::pause:
      ++polls_;
      budget_ = 0;
      return;
    case OpKind::lanes:
      return;
  }
}

/// Some cycle of a step: %clock and %globaltimer only have to move on.
void Executor::clock(const Op& op) {
  const std::uint64_t now = steps_ + ++clock_reads_;
  for_each_lane(mask_, [&](int lane) { set_lane(op.d, op.d_bytes, lane, now); });
}

/// False where the path cannot go straight on: it waits, has finished, parted or joined.
bool Executor::end_segment(int path, const Segment& segment) {
  const Terminator& end = segment.end;
  instruction_ = end.instruction;
  std::uint32_t next = end.next;
  switch (end.kind) {
    case TerminatorKind::next:
      break;
    case TerminatorKind::branch:
      next = end.target;
      break;
    case TerminatorKind::conditional: {
      const LaneMask chosen = helpers_.pack(read(end.predicate));
      const LaneMask taken = mask_ & (end.negated ? ~chosen : chosen);
      if (taken == mask_) next = end.target;
      if (taken == mask_ || taken == 0) break;
      ++tally_.diverged[static_cast<std::size_t>(&segment - program_.segments.data())];
      warp_->diverge(path, taken, end.target, end.next, segment.reconverge);
      return false;
    }
    case TerminatorKind::finish:
      warp_->finish(path);
      complete_warp_syncs();
      warps_at_barrier();
      return false;
    case TerminatorKind::trap:
      fault(std::countr_zero(mask_), "executed trap");
    case TerminatorKind::sync: {
      const Sync& sync = program_.syncs[end.sync];
      if (recorder_ != nullptr) recorder_->synchronisation(sync, *warp_, mask_);
      if (sync.kind == SyncKind::barrier) {
        barrier(path, sync);
        return false;
      }
      if (!warp_sync(path, end.sync)) return false;
      break;
    }
  }
  Path& one = warp_->paths()[static_cast<std::size_t>(path)];
  if (next != one.reconverge) {
    one.segment = next;
    return true;
  }
  warp_->advance(path, next);
  return false;
}

void Executor::fault(int lane, const std::string& what) const {
  throw_error(StatusCode::device, "kernel {}, {}: {}; block {}{}", program_.name, program_.describe(instruction_), what,
              block_->index(), lane < 0 ? "" : fmt::format(", thread {}", block_->thread(*warp_, lane)));
}

}  // namespace softmax_dispatch::sim
