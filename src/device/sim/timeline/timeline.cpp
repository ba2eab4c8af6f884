#include "device/sim/timeline/timeline.hpp"

#include <algorithm>
#include <bit>

namespace softmax_dispatch::sim {
namespace {

constexpr std::uint64_t kSectorBytes = 32, kLineBytes = 128;
/// A jump over more than this to code that was not fetched before costs as much as fetching this; over less, what it
/// skips. From kernels whose unrolled groups most threads skip, on an H200.
constexpr double kJumpSlots = 40;

using Times = Timeline::Times;

void raise(Times& to, const Times& other) {
  for (std::size_t i = 0; i < Timeline::kCases; ++i) to[i] = std::max(to[i], other[i]);
}

Times plus(Times times, double cycles) {
  for (double& one : times) one += cycles;
  return times;
}

Times plus(Times times, const Times& cycles) {
  for (std::size_t i = 0; i < Timeline::kCases; ++i) times[i] += cycles[i];
  return times;
}

/// Lines that an access touches, of neighbouring lanes each once: the rounds that the load/store unit needs for it.
double lines_of(const Timeline::Addresses& addresses, std::uint32_t mask, unsigned bytes) {
  unsigned lines = 0;
  std::uint64_t last = ~std::uint64_t{0};
  for (; mask != 0; mask &= mask - 1) {
    const std::uint64_t line = (addresses[static_cast<std::size_t>(std::countr_zero(mask))] + bytes - 1) / kLineBytes;
    if (line != last) ++lines;
    last = line;
  }
  return lines;
}

}  // namespace

Timeline::Timeline(const Schedule& schedule, std::size_t steps, std::size_t warps)
    : schedule_(schedule), warps_(warps), where_(steps) {
  const MemoryLatencies& memory = schedule.memory;
  load_latency_[static_cast<std::size_t>(Where::none)] = {4, 4, 4};
  load_latency_[static_cast<std::size_t>(Where::first)] = {memory.l2, memory.dram, memory.l2};
  load_latency_[static_cast<std::size_t>(Where::again)] = {memory.l1, memory.l1, memory.l2};
  std::size_t most = 0;
  for (const SegmentSchedule& one : schedule.segments) most = std::max(most, one.instructions.size());
  done_.resize(most);
  reset();
}

void Timeline::reset() {
  for (WarpClock& warp : warps_) {
    warp.now = {};
    warp.ready.assign(schedule_.registers, Times{});
    warp.segment = kNoSegment;
    warp.fresh_bytes = warp.live_bytes = 0;
    warp.stored = false;
    warp.ran.assign(schedule_.segments.size(), false);
    warp.code_slots = 0;
    warp.rounds = 0;
  }
  std::fill(where_.begin(), where_.end(), Where::none);
  touched_.clear();
  phase_ = phase_wait_ = {};
  phase_slots_ = {};
  phase_lines_ = 0;
  last_page_ = ~std::uint64_t{0};
}

/// Whether none of the sectors of the range was touched before.
bool Timeline::touch(std::uint64_t address, unsigned bytes) {
  bool fresh = true;
  for (std::uint64_t sector = address / kSectorBytes; sector <= (address + bytes - 1) / kSectorBytes; ++sector) {
    if (const std::uint64_t page = sector / kSectorsOfPage; page != last_page_) {
      last_page_ = page;
      last_sectors_ = &touched_[page];
    }
    auto bit = (*last_sectors_)[sector % kSectorsOfPage];
    fresh = fresh && !bit;
    bit = true;
  }
  return fresh;
}

void Timeline::load(std::uint32_t warp, std::uint32_t op, const Addresses& addresses, std::uint32_t mask,
                    unsigned bytes) {
  phase_lines_ += lines_of(addresses, mask, bytes);
  // A row that begins in the last sector of the row before is new all the same: one new sector is enough.
  unsigned fresh = 0;
  std::uint64_t last_sector = ~std::uint64_t{0};
  for (; mask != 0; mask &= mask - 1) {
    const std::uint64_t address = addresses[static_cast<std::size_t>(std::countr_zero(mask))];
    const std::uint64_t sector = (address + bytes - 1) / kSectorBytes;
    if (sector == last_sector) continue;
    fresh += touch(address, bytes) ? 1u : 0u;
    last_sector = sector;
  }
  where_[op] = fresh > 0 ? Where::first : Where::again;
  if (fresh == 0) return;
  WarpClock& clock = warps_[warp];
  if (clock.stored) clock.fresh_bytes = 0;
  clock.stored = false;
  clock.fresh_bytes += static_cast<double>(fresh * kSectorBytes);
  clock.live_bytes = std::max(clock.live_bytes, clock.fresh_bytes);
}

void Timeline::store(std::uint32_t warp, const Addresses& addresses, std::uint32_t mask, unsigned bytes) {
  phase_lines_ += lines_of(addresses, mask, bytes);
  warps_[warp].stored = true;
}

double Timeline::code_slots() const noexcept {
  double most = 0;
  for (const WarpClock& warp : warps_) most = std::max(most, warp.code_slots);
  return most;
}

double Timeline::live_bytes() const noexcept {
  double sum = 0;
  for (const WarpClock& warp : warps_) sum += warp.live_bytes;
  return sum;
}

void Timeline::segment(std::uint32_t warp, std::uint32_t index) {
  WarpClock& clock = warps_[warp];
  const SegmentSchedule& segment = schedule_.segments[index];
  if (!clock.ran[index] && clock.segment != kNoSegment && clock.segment < index) {
    double skipped = 0;
    for (std::uint32_t i = clock.segment + 1; i < index && skipped < kJumpSlots; ++i)
      for (const ScheduledInstruction& one : schedule_.segments[i].instructions) skipped += one.slots;
    clock.code_slots += std::min(skipped, kJumpSlots);
  }
  clock.rounds = clock.segment == index ? clock.rounds + 1 : 0;
  clock.segment = index;
  if (clock.rounds % kUnrolled == 0) clock.batch = clock.now;
  const bool in_batch = segment.unrolled && clock.rounds % kUnrolled != 0;
  double& slots = phase_slots_[warp % kSchedulers];
  for (std::size_t i = 0; i < segment.instructions.size(); ++i) {
    const ScheduledInstruction& one = segment.instructions[i];
    Times& now = clock.now;
    for (std::uint32_t need = one.first_need; need < one.first_need + one.needs; ++need) {
      const std::uint32_t what = segment.needs[need];
      raise(now, (what & kFromOutside) != 0 ? clock.ready[what & ~kFromOutside] : done_[what]);
    }
    if (one.load == kNoOp) {
      done_[i] = plus(now, one.latency);
    } else {
      Where& where = where_[one.load];
      const Times& latency = load_latency_[static_cast<std::size_t>(where)];
      done_[i] = plus(in_batch ? clock.batch : now, latency);
      raise(phase_wait_, latency);
      where = Where::none;
    }
    for (std::uint32_t made = one.first_made; made < one.first_made + one.made; ++made)
      clock.ready[segment.made[made]] = done_[i];
    now = plus(now, in_batch ? one.slots : one.stall);
    slots += one.slots;
    if (!clock.ran[index]) clock.code_slots += one.slots;
  }
  clock.ran[index] = true;
}

/// A phase between barriers lasts as long as its slowest warp; and, once the data that it begins with has come, as long
/// as a scheduler has instructions to issue.
void Timeline::barrier(std::uint32_t warps) {
  const Times latest = plus(end_of(warps), schedule_.barrier_latency);
  for (std::size_t i = 0; i < warps_.size(); ++i)
    if ((warps >> i & 1) != 0) warps_[i].now = latest;
  phase_ = latest;
  phase_wait_ = {};
  phase_slots_ = {};
  phase_lines_ = 0;
}

Times Timeline::end_of(std::uint32_t warps) const {
  const double slots = std::max(*std::max_element(phase_slots_.begin(), phase_slots_.end()), phase_lines_);
  Times latest = plus(plus(phase_, phase_wait_), slots);
  for (std::size_t i = 0; i < warps_.size(); ++i)
    if ((warps >> i & 1) != 0) raise(latest, warps_[i].now);
  return latest;
}

Times Timeline::end() const {
  return end_of(~std::uint32_t{0});
}

BlockPath Timeline::path(const Times& times, const MemoryLatencies& memory) {
  BlockPath path;
  path.first_trips = (times[1] - times[0]) / (memory.dram - memory.l2);
  path.again_trips = (times[2] - times[0]) / (memory.l2 - memory.l1);
  path.cycles = times[0] - path.first_trips * memory.l2 - path.again_trips * memory.l1;
  return path;
}

}  // namespace softmax_dispatch::sim
