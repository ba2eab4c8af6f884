#include "device/sim/exec/block.hpp"

#include <algorithm>
#include <cstring>

#include "support/hash.hpp"

namespace softmax_dispatch::sim {
namespace {

constexpr std::size_t kSlotAlign = 64;

std::uint32_t warp_count(std::uint32_t threads) {
  return (threads + lanes::kLanes - 1) / lanes::kLanes;
}

}  // namespace

SlotBuffer::SlotBuffer(std::size_t bytes) : storage_(bytes + kSlotAlign), bytes_(bytes) {
  void* start = storage_.data();
  std::size_t space = storage_.size();
  data_ = static_cast<std::byte*>(std::align(kSlotAlign, bytes, start, space));
}

Block::Block(const GridLaunch& launch, const Schedule* schedule)
    : launch_(launch),
      registers_(warp_count(launch.block) * launch.program->register_bytes),
      warps_(warp_count(launch.block)),
      shared_(*launch.program, launch.dynamic_shared_bytes, warp_count(launch.block)),
      local_bytes_(launch.program->local_bytes),
      local_(launch.block * local_bytes_),
      local_written_(launch.block * local_bytes_) {
  if (schedule != nullptr)
    timeline_ = std::make_unique<Timeline>(*schedule, launch.program->ops.size(), warp_count(launch.block));
}

void Block::reset(std::uint64_t index, std::uint64_t order, std::uint64_t seed) {
  index_ = index;
  order_ = order;
  first_warp_ = (order + seed) % warps_.size();
  shared_.reset();
  barriers_.fill({});
  copies_.reset();
  if (timeline_) timeline_->reset();
  std::fill(local_written_.begin(), local_written_.end(), std::uint8_t{0});
  for (std::uint32_t i = 0; i < warps_.size(); ++i) {
    const std::uint32_t threads = std::min<std::uint32_t>(lanes::kLanes, launch_.block - i * lanes::kLanes);
    const LaneMask lanes = threads == lanes::kLanes ? kAllLanes : (LaneMask{1} << threads) - 1;
    warps_[i].reset(i, lanes, registers_.data() + i * launch_.program->register_bytes);
    set_specials(warps_[i]);
  }
}

void Block::set_specials(Warp& warp) {
  for (const SpecialSlot& one : launch_.program->warp_specials) {
    std::byte* const slot = warp.registers() + one.slot;
    for (std::uint32_t lane = 0; lane < lanes::kLanes; ++lane) {
      std::uint32_t value = 0;
      if (one.what == Special::tid_x) value = warp.index() * lanes::kLanes + lane;
      if (one.what == Special::warpid) value = warp.index();
      if (one.what == Special::ctaid_x) value = static_cast<std::uint32_t>(index_);
      if (one.what == Special::smid) value = static_cast<std::uint32_t>(index_ % launch_.sm_count);
      std::memcpy(slot + lane * 4, &value, 4);
    }
  }
}

bool Block::finished() const noexcept {
  return std::all_of(warps_.begin(), warps_.end(), [](const Warp& warp) { return warp.alive() == 0; });
}

std::string Block::state_hash() const {
  Hasher hasher;
  const auto add = [&](const void* data, std::size_t bytes) { hasher.add({static_cast<const char*>(data), bytes}); };
  add(registers_.data(), registers_.bytes());
  for (const Warp& warp : warps_) {
    for (const Path& path : warp.paths()) {
      const std::uint32_t state[]{static_cast<std::uint32_t>(path.state), path.mask, path.segment, path.passed};
      add(state, sizeof state);
    }
  }
  add(shared_.at(0), shared_.bytes());
  add(local_.data(), local_.size());
  for (const PendingCopy& copy : copies_.pending) {
    const std::uint64_t one[]{copy.to, copy.source, copy.bytes, copy.barrier};
    add(one, sizeof one);
  }
  return hasher.hex();
}

}  // namespace softmax_dispatch::sim
