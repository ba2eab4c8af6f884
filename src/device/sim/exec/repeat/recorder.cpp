#include "device/sim/exec/repeat/recorder.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace softmax_dispatch::sim {
namespace {

// A block that touches more is long, and few are like it.
constexpr std::size_t kMostRuns = 1024;
constexpr std::size_t kMostBytes = 1 << 14;
constexpr int kSectorBits = 5;

SparseTally::Counts sparse_difference(const std::vector<std::uint64_t>& after,
                                      const std::vector<std::uint64_t>& before) {
  SparseTally::Counts counts;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i] != before[i]) counts.emplace_back(static_cast<std::uint32_t>(i), after[i] - before[i]);
  }
  return counts;
}

void add_sparse(std::vector<std::uint64_t>& to, const SparseTally::Counts& counts, std::uint64_t times) {
  for (const auto& [index, count] : counts) to[index] += count * times;
}

bool overlap(const Run& a, const Run& b) {
  return a.address < b.address + b.bytes && b.address < a.address + a.bytes;
}

}  // namespace

SparseTally SparseTally::difference(const Tally& after, const Tally& before) {
  SparseTally made;
  made.segments = sparse_difference(after.segments, before.segments);
  made.segment_lanes = sparse_difference(after.segment_lanes, before.segment_lanes);
  made.diverged = sparse_difference(after.diverged, before.diverged);
  made.guarded = sparse_difference(after.guarded, before.guarded);
  made.guarded_lanes = sparse_difference(after.guarded_lanes, before.guarded_lanes);
  made.bytes_load = after.bytes_load - before.bytes_load;
  made.bytes_store = after.bytes_store - before.bytes_store;
  return made;
}

void SparseTally::add_to(Tally& tally, std::uint64_t times) const {
  add_sparse(tally.segments, segments, times);
  add_sparse(tally.segment_lanes, segment_lanes, times);
  add_sparse(tally.diverged, diverged, times);
  add_sparse(tally.guarded, guarded, times);
  add_sparse(tally.guarded_lanes, guarded_lanes, times);
  tally.sectors_load += sectors_load * times;
  tally.sectors_store += sectors_store * times;
  tally.bytes_load += bytes_load * times;
  tally.bytes_store += bytes_store * times;
}

Recorder::Recorder(const Program& program, const Allocations& memory, std::uint32_t warps)
    : program_(program), memory_(memory), warps_(warps), before_(program) {
  for (const Op& op : program.ops) motions_.push_back(op.kind == OpKind::lanes ? motion_of(op.function) : Motion{});
  for (Moving& one : warps_) {
    one.moves.resize(program.register_bytes / lanes::kSlotBytes);
    one.rates.resize(one.moves.size());
  }
}

bool Recorder::can_record(const Program& program) {
  const bool alone = !program.communicates && program.atomics.empty() && program.copies.empty() &&
                     program.local_bytes == 0 &&
                     std::none_of(program.accesses.begin(), program.accesses.end(),
                                  [](const Access& access) { return access.strong; });
  const bool timeless = std::none_of(program.ops.begin(), program.ops.end(), [](const Op& op) {
    return op.kind == OpKind::clock || op.kind == OpKind::pause || op.kind == OpKind::atomic;
  });
  const bool anywhere = std::none_of(program.warp_specials.begin(), program.warp_specials.end(),
                                     [](const SpecialSlot& one) { return one.what == Special::smid; });
  return alone && timeless && anywhere;
}

void Recorder::start(std::int64_t t, const Tally& tally) {
  failed_ = false;
  before_ = tally;
  record_ = {};
  record_.t = t;
  shared_written_.clear();
  for (Moving& one : warps_) std::fill(one.moves.begin(), one.moves.end(), std::uint8_t{0});
}

void Recorder::begin_round(std::int64_t t, const WalkState& state, const Tally& tally) {
  start(t, tally);
  for (Moving& one : warps_) {
    for (const WalkState::Register& alive : state.registers()) {
      if (alive.rate == 0) continue;
      one.moves[slot(alive.slot)] = 1;
      one.rates[slot(alive.slot)].fill(alive.rate);
    }
  }
}

bool Recorder::is_back(const WalkState& state) const {
  for (const Moving& one : warps_) {
    for (const WalkState::Register& alive : state.registers()) {
      if (one.moves[slot(alive.slot)] == 0) {
        if (alive.rate != 0) return false;
        continue;
      }
      const Rates& rates = one.rates[slot(alive.slot)];
      if (!std::all_of(rates.begin(), rates.end(), [&](std::int64_t rate) { return rate == alive.rate; })) return false;
    }
  }
  return true;
}

void Recorder::begin(std::int64_t t, const Tally& tally) {
  start(t, tally);
  for (Moving& one : warps_) {
    for (const SpecialSlot& special : program_.warp_specials) {
      if (special.what != Special::ctaid_x) continue;
      one.moves[slot(special.slot)] = 1;
      one.rates[slot(special.slot)].fill(1);
    }
  }
}

bool Recorder::moves(const Warp& warp, Ref ref, LaneMask mask) const noexcept {
  if (ref == kNoRef || !may_move(warp, ref)) return false;
  bool any = false;
  const Rates& rates = warps_[warp.index()].rates[slot(ref)];
  for_each_lane(mask, [&](int lane) { any = any || rates[static_cast<std::size_t>(lane)] != 0; });
  return any;
}

void Recorder::stop(const Warp& warp, Ref ref, LaneMask mask) noexcept {
  if (ref == kNoRef || !may_move(warp, ref)) return;
  Moving& moving = warps_[warp.index()];
  if (mask == kAllLanes) {
    moving.moves[slot(ref)] = 0;
    return;
  }
  for_each_lane(mask, [&](int lane) { moving.rates[slot(ref)][static_cast<std::size_t>(lane)] = 0; });
}

void Recorder::set(const Warp& warp, Ref ref, LaneMask mask, const Rates& rates) {
  Moving& moving = warps_[warp.index()];
  Rates& kept = moving.rates[slot(ref)];
  if (moving.moves[slot(ref)] == 0) kept.fill(0);
  moving.moves[slot(ref)] = 1;
  for_each_lane(mask, [&](int lane) { kept[static_cast<std::size_t>(lane)] = rates[static_cast<std::size_t>(lane)]; });
}

MovingOperand Recorder::operand(const Warp& warp, Ref ref, unsigned bytes, const std::byte* constants) const {
  if (bytes == 0) return {};
  if (!is_register(ref)) return {constants + (ref & ~kConstantBit), bytes, nullptr};
  return {warp.registers() + ref, bytes, may_move(warp, ref) ? &warps_[warp.index()].rates[slot(ref)] : nullptr};
}

void Recorder::lanes_step(std::uint32_t index, const Warp& warp, LaneMask mask, const std::byte* constants) {
  const Op& op = program_.ops[index];
  if (!may_move(warp, op.a) && !may_move(warp, op.b) && !may_move(warp, op.c)) return stop(warp, op.d, mask);
  const Motion& motion = motions_[index];
  if (motion.rule == MotionRule::unknown) {
    if (moves(warp, op.a, mask) || moves(warp, op.b, mask) || moves(warp, op.c, mask)) fail();
    return stop(warp, op.d, mask);
  }
  Rates rates{};
  const bool known =
      follow(motion.rule,
             {operand(warp, op.a, motion.bytes[0], constants), operand(warp, op.b, motion.bytes[1], constants),
              operand(warp, op.c, motion.bytes[2], constants)},
             op.d_bytes, mask, rates, record_.reach);
  if (!known) return fail();
  set(warp, op.d, mask, rates);
}

void Recorder::synchronisation(const Sync& sync, const Warp& warp, LaneMask mask) {
  for (const Ref ref : {sync.source, sync.b, sync.c, sync.mask}) {
    if (moves(warp, ref, mask)) fail();
  }
  stop(warp, sync.result, mask);
  stop(warp, sync.predicate, mask);
}

void Recorder::access(const Op& op, const Warp& warp, LaneMask mask) {
  const Access& access = program_.accesses[op.extra];
  address_rates_.fill(0);
  if (may_move(warp, access.address)) address_rates_ = warps_[warp.index()].rates[slot(access.address)];
  for (const Ref ref : access.data) {
    if (op.kind == OpKind::load) {
      stop(warp, ref, mask);
    } else if (moves(warp, ref, mask)) {
      fail();
    }
  }
}

/// Lanes in a row, and lanes with one address, are one run.
void Recorder::find_runs(unsigned bytes, LaneMask mask, const Addresses& addresses) {
  runs_.clear();
  for_each_lane(mask, [&](int lane) {
    const std::uint64_t address = addresses[static_cast<std::size_t>(lane)];
    const std::int64_t rate = address_rates_[static_cast<std::size_t>(lane)];
    record_.reach.keep_multiple(rate, std::countr_zero(bytes));
    if (!runs_.empty() && runs_.back().rate == rate) {
      Run& last = runs_.back();
      const std::uint64_t end = last.address + last.bytes;
      if (address >= last.address && address <= end) {
        last.bytes = static_cast<std::uint32_t>(std::max(end, address + bytes) - last.address);
        return;
      }
    }
    runs_.push_back({address, bytes, rate, nullptr});
  });
  for (Run& run : runs_) run.allocation = find_allocation(memory_, run.address);
}

void Recorder::global(const Op& op, LaneMask mask, const Addresses& addresses, std::uint64_t sectors) {
  if (failed_) return;
  const Access& access = program_.accesses[op.extra];
  find_runs(unsigned{access.bytes} * access.count, mask, addresses);
  const bool load = op.kind == OpKind::load;
  if (runs_.size() == 1) {
    (load ? record_.sector_loads : record_.sector_stores).push_back(runs_.front());
  } else {
    for (const Run& run : runs_) record_.reach.keep_multiple(run.rate, kSectorBits);
    (load ? record_.tally.sectors_load : record_.tally.sectors_store) += sectors;
  }
  for (const Run& run : runs_) load ? note_load(run) : note_store(run);
  const std::size_t most = std::max(
      {record_.loads.size(), record_.stores.size(), record_.sector_loads.size(), record_.sector_stores.size()});
  if (most > kMostRuns || record_.loaded.size() + record_.stored.size() > kMostBytes) fail();
}

/// What a block reads after it has written it is not what a block like it finds before it starts.
void Recorder::note_load(const Run& run) {
  for (const Run& store : record_.stores) {
    if (store.rate != run.rate || overlap(store, run)) return fail();
  }
  const std::byte* const from = run.allocation->host() + (run.address - run.allocation->base());
  record_.loads.push_back(run);
  record_.loaded.insert(record_.loaded.end(), from, from + run.bytes);
}

void Recorder::note_store(const Run& run) {
  const std::byte* const from = run.allocation->host() + (run.address - run.allocation->base());
  record_.stored.insert(record_.stored.end(), from, from + run.bytes);
  if (!record_.stores.empty()) {
    Run& last = record_.stores.back();
    if (last.rate == run.rate && last.allocation == run.allocation && last.address + last.bytes == run.address) {
      last.bytes += run.bytes;
      return;
    }
  }
  record_.stores.push_back(run);
}

/// A block reads shared memory that it has written itself.
void Recorder::shared(const Op& op, LaneMask mask, const Addresses& addresses) {
  const Access& access = program_.accesses[op.extra];
  const std::size_t bytes = std::size_t{access.bytes} * access.count;
  for_each_lane(mask, [&](int lane) {
    if (address_rates_[static_cast<std::size_t>(lane)] != 0) return fail();
    const std::size_t first = addresses[static_cast<std::size_t>(lane)], end = first + bytes;
    if (op.kind == OpKind::store) {
      if (end > shared_written_.size() && end < kMostBytes) shared_written_.resize(end);
      if (end > shared_written_.size()) return fail();
      std::fill_n(shared_written_.begin() + static_cast<std::ptrdiff_t>(first), bytes, true);
    } else {
      for (std::size_t i = first; i < end; ++i) {
        if (i >= shared_written_.size() || !shared_written_[i]) return fail();
      }
    }
  });
}

/// Sorts what was read, and takes what was read several times once. False where it changed in between.
bool Recorder::merge_loads() {
  const std::vector<Run> runs = std::move(record_.loads);
  const std::vector<std::byte> bytes = std::move(record_.loaded);
  std::vector<std::size_t> begins(runs.size());
  for (std::size_t i = 1; i < runs.size(); ++i) begins[i] = begins[i - 1] + runs[i - 1].bytes;
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(runs[a].rate, runs[a].address) < std::pair(runs[b].rate, runs[b].address);
  });
  record_.loads.clear();
  record_.loaded.clear();
  for (const std::size_t i : order) {
    const Run& run = runs[i];
    const std::byte* const data = bytes.data() + begins[i];
    std::size_t known = 0;  // bytes of the run that the last one has
    const bool joins = !record_.loads.empty() && record_.loads.back().rate == run.rate &&
                       record_.loads.back().allocation == run.allocation &&
                       run.address <= record_.loads.back().address + record_.loads.back().bytes;
    if (joins) {
      Run& last = record_.loads.back();
      const std::size_t end = last.address + last.bytes - run.address;
      known = std::min<std::size_t>(end, run.bytes);
      if (std::memcmp(record_.loaded.data() + (record_.loaded.size() - end), data, known) != 0) return false;
      last.bytes += static_cast<std::uint32_t>(run.bytes - known);
    } else {
      record_.loads.push_back(run);
    }
    record_.loaded.insert(record_.loaded.end(), data + known, data + run.bytes);
  }
  return true;
}

void Recorder::keep_shared(const SharedMemory& shared) {
  for (std::size_t i = 0; i < shared_written_.size(); ++i) {
    if (!shared_written_[i]) continue;
    if (i == 0 || !shared_written_[i - 1]) record_.shared.push_back({i, 0, 0, nullptr});
    ++record_.shared.back().bytes;
    record_.shared_bytes.push_back(*shared.at(i));
  }
}

std::optional<Record> Recorder::finish(const Tally& tally, const SharedMemory& shared) {
  if (failed_ || !merge_loads()) return std::nullopt;
  keep_shared(shared);
  const std::uint64_t sectors_load = record_.tally.sectors_load, sectors_store = record_.tally.sectors_store;
  record_.tally = SparseTally::difference(tally, before_);
  record_.tally.sectors_load = sectors_load;
  record_.tally.sectors_store = sectors_store;
  return std::move(record_);
}

}  // namespace softmax_dispatch::sim
