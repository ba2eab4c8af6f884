#include "device/sim/exec/repeat/walk_state.hpp"

#include <cstdlib>
#include <cstring>
#include <numeric>

namespace softmax_dispatch::sim {
namespace {

std::uint64_t narrowed(std::uint64_t value, std::uint8_t bytes) {
  return bytes == 8 ? value : static_cast<std::uint32_t>(value);
}
std::int64_t with_sign(std::uint64_t value, std::uint8_t bytes) {
  return bytes == 8 ? static_cast<std::int64_t>(value) : static_cast<std::int32_t>(value);
}

}  // namespace

/// Register after register, of each its lanes in all warps.
void WalkState::read(const Segment& place, const std::vector<Warp>& warps, Values& values) {
  values.assign(place.alive.size() * warps.size() * lanes::kLanes, 0);
  std::size_t next = 0;
  for (const RegisterSlot& one : place.alive) {
    for (const Warp& warp : warps) {
      for (std::size_t lane = 0; lane < lanes::kLanes; ++lane)
        std::memcpy(&values[next++], warp.registers() + one.slot + lane * one.lane_bytes, one.lane_bytes);
    }
  }
}

std::optional<WalkState> WalkState::find(const Segment& place, const Values& before, const Values& after) {
  if (place.alive.empty() || before.size() != after.size()) return std::nullopt;
  WalkState found;
  const std::size_t threads = before.size() / place.alive.size();
  std::int64_t common = 0;
  for (std::size_t i = 0; i < place.alive.size(); ++i) {
    const RegisterSlot& one = place.alive[i];
    const std::int64_t step = with_sign(after[i * threads] - before[i * threads], one.lane_bytes);
    for (std::size_t thread = 0; thread < threads; ++thread) {
      const std::size_t at = i * threads + thread;
      if (with_sign(after[at] - before[at], one.lane_bytes) != step) return std::nullopt;
    }
    common = std::gcd(common, step);
    found.registers_.push_back({one.slot, one.lane_bytes, step});
  }
  if (common <= 0) return std::nullopt;
  found.row_register_ = found.registers_.size();
  for (std::size_t i = 0; i < found.registers_.size(); ++i) {
    found.registers_[i].rate /= common;
    if (std::abs(found.registers_[i].rate) == 1) found.row_register_ = i;
  }
  if (found.row_register_ == found.registers_.size()) return std::nullopt;
  found.at_zero_ = before;
  const Register& row = found.registers_[found.row_register_];
  const std::int64_t t = row.rate * with_sign(before[found.row_register_ * threads], row.lane_bytes);
  for (std::size_t i = 0; i < before.size(); ++i) found.at_zero_[i] = found.at(i, -t);
  return found;
}

std::uint64_t WalkState::at(std::size_t index, std::int64_t t) const noexcept {
  const Register& one = registers_[index / (at_zero_.size() / registers_.size())];
  return narrowed(at_zero_[index] + static_cast<std::uint64_t>(one.rate) * static_cast<std::uint64_t>(t),
                  one.lane_bytes);
}

std::optional<std::int64_t> WalkState::row(const Values& values) const {
  if (values.size() != at_zero_.size()) return std::nullopt;
  const std::size_t threads = at_zero_.size() / registers_.size();
  const Register& one = registers_[row_register_];
  const std::size_t at_row = row_register_ * threads;
  const std::int64_t t = one.rate * with_sign(values[at_row] - at_zero_[at_row], one.lane_bytes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != at(i, t)) return std::nullopt;
  }
  return t;
}

void WalkState::write(std::int64_t t, std::vector<Warp>& warps) const {
  const std::size_t threads = at_zero_.size() / registers_.size();
  for (std::size_t i = 0; i < registers_.size(); ++i) {
    const Register& one = registers_[i];
    if (one.rate == 0) continue;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      const std::uint64_t value = at(i * threads + thread, t);
      std::memcpy(warps[thread / lanes::kLanes].registers() + one.slot + thread % lanes::kLanes * one.lane_bytes,
                  &value, one.lane_bytes);
    }
  }
}

}  // namespace softmax_dispatch::sim
