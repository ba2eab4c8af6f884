#include "device/sim/exec/shared_memory.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace softmax_dispatch::sim {
namespace {

unsigned granule_shift(const Program& program) {
  unsigned bytes = 4;
  for (const Access& access : program.accesses) {
    if (access.space == ptx::Space::shared || access.space == ptx::Space::none)
      bytes = std::min<unsigned>(bytes, access.bytes);
  }
  return static_cast<unsigned>(std::countr_zero(bytes));
}

std::string thread_name(std::uint32_t warp, int lane) {
  return fmt::format("thread {}", warp * lanes::kLanes + static_cast<std::uint32_t>(lane));
}

}  // namespace

SharedMemory::SharedMemory(const Program& program, std::uint32_t dynamic_bytes, std::uint32_t warps)
    : program_(program), granule_shift_(granule_shift(program)), warps_(warps), sync_tick_(warps) {
  std::uint64_t end = program.shared_dynamic_offset + std::uint64_t{dynamic_bytes};
  for (const SharedVariable& one : program.shared) end = std::max(end, one.offset + one.bytes);
  bytes_.resize(end);
  inside_.resize(end);
  granules_.resize((end >> granule_shift_) + 1);
  const auto declare = [&](std::uint64_t offset, std::uint64_t bytes) {
    std::fill_n(inside_.begin() + static_cast<std::ptrdiff_t>(offset), bytes, std::uint8_t{1});
  };
  for (const SharedVariable& one : program.shared) declare(one.offset, one.bytes);
  if (dynamic_bytes > 0) declare(program.shared_dynamic_offset, dynamic_bytes);
}

void SharedMemory::reset() {
  std::fill(granules_.begin(), granules_.end(), Granule{});
  tick_ = whole_tick_ = 0;
  for (auto& row : sync_tick_) row.fill(0);
}

bool SharedMemory::holds(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  if (offset >= inside_.size() || bytes > inside_.size() - offset) return false;
  // Variables are much longer than an element and have gaps between them that are, too: the ends decide.
  return inside_[offset] != 0 && inside_[offset + bytes - 1] != 0;
}

std::string SharedMemory::describe_outside(std::uint64_t offset) const {
  std::uint64_t begin = std::min<std::uint64_t>(offset, inside_.size());
  while (begin > 0 && inside_[begin - 1] == 0) --begin;
  if (begin == 0) return "outside the block's shared memory";
  return fmt::format("{} bytes past the end of a shared variable", offset - begin);
}

/// Whether f was true for all of them.
template <typename F>
bool SharedMemory::for_each_granule(std::uint64_t offset, std::uint64_t bytes, F f) {
  const std::uint64_t last = (offset + bytes - 1) >> granule_shift_;
  bool all = true;
  for (std::uint64_t i = offset >> granule_shift_; i <= last; ++i) all = f(granules_[i]) && all;
  return all;
}

bool SharedMemory::initialised(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  const std::uint64_t last = (offset + bytes - 1) >> granule_shift_;
  for (std::uint64_t i = offset >> granule_shift_; i <= last; ++i) {
    if (!granules_[i].written) return false;
  }
  return true;
}

bool SharedMemory::conflicts_with_write(const SharedAccessor& who, const Granule& granule) {
  if (!granule.written || (granule.strong_write && who.strong)) return false;
  const bool same_warp = granule.write_warp == who.warp->index();
  if (same_warp && granule.write_lane == who.lane) return false;
  const bool in_order = same_warp ? who.warp->ordered(granule.write_lane, who.lane, granule.write_warp_tick)
                                  : ordered(granule.write_warp, granule.write_tick, *who.warp);
  if (!in_order) {
    race_ = fmt::format("a write by {} at {}", thread_name(granule.write_warp, granule.write_lane),
                        program_.describe(granule.write_instruction));
  }
  return !in_order;
}

bool SharedMemory::conflicts_with_reads(const SharedAccessor& who, const Granule& granule) {
  if (granule.read_warps == 0 || (granule.strong_read && who.strong)) return false;
  const std::uint32_t own = who.warp->index();
  bool found = false;
  for_each_lane(granule.read_warps & ~(std::uint32_t{1} << own), [&](int warp) {
    if (found || ordered(static_cast<std::uint32_t>(warp), granule.read_tick, *who.warp)) return;
    found = true;
    race_ = fmt::format("a read by warp {} at {}", warp, program_.describe(granule.read_instruction));
  });
  if (found || granule.read_warp != own) return found;
  for_each_lane(granule.read_lanes & ~(LaneMask{1} << who.lane), [&](int lane) {
    if (found || who.warp->ordered(lane, who.lane, granule.read_warp_tick)) return;
    found = true;
    race_ = fmt::format("a read by {} at {}", thread_name(own, lane), program_.describe(granule.read_instruction));
  });
  return found;
}

void SharedMemory::note_read(Granule& granule, const SharedAccessor& who, LaneMask lanes) const noexcept {
  const Warp& warp = *who.warp;
  if (granule.read_tick != tick_ || granule.read_warps == 0) {
    granule.read_tick = tick_;
    granule.read_warps = 0;
    granule.strong_read = true;
  }
  granule.read_warps |= std::uint32_t{1} << warp.index();
  granule.strong_read = granule.strong_read && who.strong;
  granule.read_instruction = who.instruction;
  if (granule.read_warp != warp.index() || granule.read_warp_tick != warp.tick()) {
    granule.read_warp = static_cast<std::uint8_t>(warp.index());
    granule.read_warp_tick = warp.tick();
    granule.read_lanes = 0;
  }
  granule.read_lanes |= lanes;
}

void SharedMemory::note_write(Granule& granule, const SharedAccessor& who, int lane) const noexcept {
  granule.written = true;
  granule.strong_write = who.strong;
  granule.write_tick = tick_;
  granule.write_warp = static_cast<std::uint8_t>(who.warp->index());
  granule.write_lane = static_cast<std::uint8_t>(lane);
  granule.write_warp_tick = who.warp->tick();
  granule.write_instruction = who.instruction;
  granule.read_warps = 0;
  granule.read_lanes = 0;
}

bool SharedMemory::read(const SharedAccessor& who, std::uint64_t offset, std::uint64_t bytes) {
  return for_each_granule(offset, bytes, [&](Granule& granule) {
    const bool races = conflicts_with_write(who, granule);
    note_read(granule, who, LaneMask{1} << who.lane);
    return !races;
  });
}

bool SharedMemory::write(const SharedAccessor& who, std::uint64_t offset, std::uint64_t bytes, bool same_value) {
  return for_each_granule(offset, bytes, [&](Granule& granule) {
    const bool races = (!same_value && conflicts_with_write(who, granule)) || conflicts_with_reads(who, granule);
    note_write(granule, who, who.lane);
    return !races;
  });
}

bool SharedMemory::read_row(const SharedAccessor& who, std::uint64_t offset, int lanes) {
  if (granule_shift_ != 2 || offset % 4 != 0 || !holds(offset, 4 * static_cast<std::uint64_t>(lanes))) return false;
  Granule* const row = granules_.data() + offset / 4;
  const std::uint32_t warp = who.warp->index();
  const bool easy = std::all_of(row, row + lanes, [&](const Granule& granule) {
    const bool own = granule.write_warp == warp && granule.write_lane == &granule - row;
    return granule.written && (granule.write_tick < whole_tick_ || own);
  });
  if (!easy) return false;
  for (int lane = 0; lane < lanes; ++lane) note_read(row[lane], who, LaneMask{1} << lane);
  return true;
}

bool SharedMemory::read_word(const SharedAccessor& who, std::uint64_t offset, LaneMask lanes) {
  if (granule_shift_ != 2 || offset % 4 != 0 || !holds(offset, 4)) return false;
  Granule& granule = granules_[offset / 4];
  if (!granule.written || granule.write_tick >= whole_tick_) return false;
  note_read(granule, who, lanes);
  return true;
}

bool SharedMemory::write_row(const SharedAccessor& who, std::uint64_t offset, int lanes) {
  if (granule_shift_ != 2 || offset % 4 != 0 || !holds(offset, 4 * static_cast<std::uint64_t>(lanes))) return false;
  Granule* const row = granules_.data() + offset / 4;
  const std::uint32_t warp = who.warp->index(), own_warp = std::uint32_t{1} << warp;
  const bool easy = std::all_of(row, row + lanes, [&](const Granule& granule) {
    const auto lane = &granule - row;
    const bool own_write = granule.write_warp == warp && granule.write_lane == lane;
    const bool own_reads = granule.read_warps == own_warp && granule.read_warp == warp &&
                           (granule.read_lanes & ~(LaneMask{1} << lane)) == 0;
    return (!granule.written || granule.write_tick < whole_tick_ || own_write) &&
           (granule.read_warps == 0 || granule.read_tick < whole_tick_ || own_reads);
  });
  if (!easy) return false;
  for (int lane = 0; lane < lanes; ++lane) note_write(row[lane], who, lane);
  return true;
}

void SharedMemory::put(std::uint64_t offset, const std::byte* from, std::uint64_t bytes) {
  std::copy_n(from, bytes, bytes_.data() + offset);
  for_each_granule(offset, bytes, [](Granule& granule) { return granule.written = true; });
}

void SharedMemory::release(const Warp& warp, Clock& to) noexcept {
  ++tick_;
  const Clock& known = sync_tick_[warp.index()];
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = std::max(to[i], known[i]);
  to[warp.index()] = tick_;
}

void SharedMemory::acquire(const Warp& warp, const Clock& from) noexcept {
  Clock& known = sync_tick_[warp.index()];
  for (std::size_t i = 0; i < known.size(); ++i) known[i] = std::max(known[i], from[i]);
}

void SharedMemory::synchronised(std::uint32_t warps) {
  ++tick_;
  std::array<std::uint32_t, 32> joint{};
  for_each_lane(warps, [&](int warp) {
    const auto& row = sync_tick_[static_cast<std::size_t>(warp)];
    for (std::size_t i = 0; i < joint.size(); ++i) joint[i] = std::max(joint[i], row[i]);
  });
  for_each_lane(warps, [&](int warp) { joint[static_cast<std::size_t>(warp)] = tick_; });
  for_each_lane(warps, [&](int warp) { sync_tick_[static_cast<std::size_t>(warp)] = joint; });
  if (static_cast<std::uint32_t>(std::popcount(warps)) == warps_) whole_tick_ = tick_;
}

}  // namespace softmax_dispatch::sim
