#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "device/sim/exec/warp.hpp"
#include "device/sim/lanes/lanes.hpp"

namespace softmax_dispatch::sim {

/// Per lane, how a value follows a number t, that of the block or of the row it is at: by so much for each step of t,
/// modulo 2^32 or 2^64 as the value is wide. Rates of 32-bit values are kept as signed 32-bit numbers.
using Rates = std::array<std::int64_t, lanes::kLanes>;

__extension__ using Wide = __int128;

/// The distances d from the t at which something was seen that leave it as it was: the same branches taken, the same
/// lanes in bounds, addresses of the same alignment.
struct Reach {
  static constexpr int kMostBits = 60;
  static constexpr std::int64_t kFarthest = (std::int64_t{1} << kMostBits) - 1;

  std::int64_t least = -kFarthest;
  std::int64_t most = kFarthest;
  int multiple_bits = 0;  ///< d is a multiple of 2^multiple_bits.

  bool holds(std::int64_t distance) const noexcept {
    return distance >= least && distance <= most &&
           (static_cast<std::uint64_t>(distance) & ((std::uint64_t{1} << multiple_bits) - 1)) == 0;
  }
  void none_but_here() noexcept { least = most = 0; }
  /// value + rate * d stays 0 or more, as it is.
  void keep_positive(Wide value, Wide rate) noexcept;
  /// value + rate * d stays within [low, high].
  void keep_between(Wide value, Wide rate, Wide low, Wide high) noexcept {
    keep_positive(value - low, rate);
    keep_positive(high - value, -rate);
  }
  /// rate * d stays a multiple of 2^bits.
  void keep_multiple(std::int64_t rate, int bits) noexcept;
};

/// What is known of a lane function: how its result follows when its operands do.
enum class MotionRule : std::uint8_t {
  unknown,
  copy,
  add,
  subtract,
  negate,
  multiply,
  multiply_wide_unsigned,
  multiply_wide_signed,
  shift_left,
  bit_and,
  widen_unsigned,
  widen_signed,
  narrow,
  select,
  minimum_signed,
  maximum_signed,
  equal,
  not_equal,
  less_unsigned,
  less_equal_unsigned,
  less_signed,
  less_equal_signed,
  greater_unsigned,
  greater_equal_unsigned,
  greater_signed,
  greater_equal_signed,
};

struct Motion {
  MotionRule rule = MotionRule::unknown;
  std::array<std::uint8_t, 3> bytes{};  ///< Per lane of a, b, c.
};
Motion motion_of(lanes::LaneFn function);

/// An operand: its slot, how wide it is, and its rates; null where it does not move.
struct MovingOperand {
  const std::byte* slot = nullptr;
  unsigned bytes = 0;
  const Rates* rates = nullptr;

  std::int64_t rate(int lane) const noexcept { return rates ? (*rates)[static_cast<std::size_t>(lane)] : 0; }
  std::uint64_t value(int lane) const noexcept;        ///< Extended by zeros.
  std::int64_t signed_value(int lane) const noexcept;  ///< Extended by its sign.
};

/// The rates of the result for the lanes of the mask, from the operands as they are before the step. Narrows `reach` to
/// where the result follows like that. False where it does not, or nobody knows.
bool follow(MotionRule rule, const std::array<MovingOperand, 3>& operands, unsigned result_bytes, LaneMask mask,
            Rates& rates, Reach& reach);

}  // namespace softmax_dispatch::sim
