#include "device/sim/exec/order.hpp"

#include <algorithm>

namespace softmax_dispatch::sim {
namespace {

constexpr int kRounds = 4;

/// The finaliser of SplitMix64.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

Order::Order(std::uint64_t count, std::uint64_t seed) : count_(count), seed_(seed) {
  while (half_bits_ < 32 && (std::uint64_t{1} << (2 * half_bits_)) < count) ++half_bits_;
}

std::uint64_t Order::operator()(std::uint64_t position) const noexcept {
  const std::uint64_t low_bits = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t value = position;
  do {
    std::uint64_t left = value >> half_bits_, right = value & low_bits;
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      const std::uint64_t next = left ^ (mixed(right + seed_ * 0x9e3779b97f4a7c15 + (round << 40)) & low_bits);
      left = right;
      right = next;
    }
    value = (left << half_bits_) | right;
  } while (value >= count_);
  return value;
}

Sample::Sample(std::uint64_t grid, std::uint64_t wanted, std::uint64_t group)
    : grid_(grid),
      group_(group),
      count_(wanted == 0 || grid <= wanted + group ? grid : (wanted + group - 1) / group * group) {}

std::uint64_t Sample::operator()(std::uint64_t position) const noexcept {
  if (count_ == grid_) return position;
  const std::uint64_t groups = count_ / group_, group = position / group_;
  return group * (grid_ / group_) / groups * group_ + position % group_;
}

}  // namespace softmax_dispatch::sim
