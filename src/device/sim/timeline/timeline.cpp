#include "device/sim/timeline/timeline.hpp"

#include <algorithm>
#include <bit>

namespace softmax_dispatch::sim {
namespace {

constexpr std::uint64_t kSectorBytes = 32;

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
  }
  std::fill(where_.begin(), where_.end(), Where::none);
  touched_.clear();
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

void Timeline::load(std::uint32_t op, const std::array<std::uint64_t, lanes::kLanes>& addresses, std::uint32_t mask,
                    unsigned bytes) {
  // A row of data that begins in a sector of the row before is new all the same: the last lane says so.
  bool fresh = false;
  std::uint64_t last_sector = ~std::uint64_t{0};
  for (; mask != 0; mask &= mask - 1) {
    const std::uint64_t address = addresses[static_cast<std::size_t>(std::countr_zero(mask))];
    const std::uint64_t sector = (address + bytes - 1) / kSectorBytes;
    if (sector == last_sector) continue;
    fresh = touch(address, bytes) || fresh;
    last_sector = sector;
  }
  where_[op] = fresh ? Where::first : Where::again;
}

void Timeline::segment(std::uint32_t warp, std::uint32_t index) {
  WarpClock& clock = warps_[warp];
  const SegmentSchedule& segment = schedule_.segments[index];
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
      done_[i] = plus(now, load_latency_[static_cast<std::size_t>(where)]);
      where = Where::none;
    }
    for (std::uint32_t made = one.first_made; made < one.first_made + one.made; ++made)
      clock.ready[segment.made[made]] = done_[i];
    now = plus(now, one.slots);
  }
}

void Timeline::barrier(std::uint32_t warps) {
  Times latest{};
  for (std::size_t i = 0; i < warps_.size(); ++i)
    if ((warps >> i & 1) != 0) raise(latest, warps_[i].now);
  latest = plus(latest, schedule_.barrier_latency);
  for (std::size_t i = 0; i < warps_.size(); ++i)
    if ((warps >> i & 1) != 0) warps_[i].now = latest;
}

Times Timeline::end() const {
  Times latest{};
  for (const WarpClock& warp : warps_) raise(latest, warp.now);
  return latest;
}

BlockPath Timeline::path(const Times& times, const MemoryLatencies& memory) {
  BlockPath path;
  path.first_trips = (times[1] - times[0]) / (memory.dram - memory.l2);
  path.again_trips = (times[2] - times[0]) / (memory.l2 - memory.l1);
  path.cycles = times[0] - path.first_trips * memory.l2 - path.again_trips * memory.l1;
  return path;
}

}  // namespace softmax_dispatch::sim
