#include "device/sim/exec/repeat/motion.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <unordered_map>

namespace softmax_dispatch::sim {
namespace {

using Rules = std::unordered_map<lanes::LaneFn, Motion>;

Rules make_rules() {
  Rules rules;
  const auto add = [&](const std::string& name, MotionRule rule) {
    if (const lanes::Row* const row = lanes::table().find(name))
      rules[row->function] = {rule, {row->bytes[1], row->bytes[2], row->bytes[3]}};
  };
  for (const std::string bits : {"32", "64"}) {
    add("mov.b" + bits, MotionRule::copy);
    add("cvt.u" + bits + ".u" + bits, MotionRule::copy);
    add("cvt.s" + bits + ".s" + bits, MotionRule::copy);
    add("cvt.u" + bits + ".s" + bits, MotionRule::copy);
    add("cvt.s" + bits + ".u" + bits, MotionRule::copy);
    add("add.u" + bits, MotionRule::add);
    add("sub.u" + bits, MotionRule::subtract);
    add("neg.u" + bits, MotionRule::negate);
    add("mul.lo.u" + bits, MotionRule::multiply);
    add("shl.b" + bits, MotionRule::shift_left);
    add("and.b" + bits, MotionRule::bit_and);
    add("selp.b" + bits, MotionRule::select);
    add("min.s" + bits, MotionRule::minimum_signed);
    add("max.s" + bits, MotionRule::maximum_signed);
    add("setp.eq.u" + bits, MotionRule::equal);
    add("setp.ne.u" + bits, MotionRule::not_equal);
    add("setp.lt.u" + bits, MotionRule::less_unsigned);
    add("setp.le.u" + bits, MotionRule::less_equal_unsigned);
    add("setp.gt.u" + bits, MotionRule::greater_unsigned);
    add("setp.ge.u" + bits, MotionRule::greater_equal_unsigned);
    add("setp.lt.s" + bits, MotionRule::less_signed);
    add("setp.le.s" + bits, MotionRule::less_equal_signed);
    add("setp.gt.s" + bits, MotionRule::greater_signed);
    add("setp.ge.s" + bits, MotionRule::greater_equal_signed);
  }
  add("mul.wide.u32", MotionRule::multiply_wide_unsigned);
  add("mul.wide.s32", MotionRule::multiply_wide_signed);
  add("cvt.u64.u32", MotionRule::widen_unsigned);
  add("cvt.s64.u32", MotionRule::widen_unsigned);
  add("cvt.u64.s32", MotionRule::widen_signed);
  add("cvt.s64.s32", MotionRule::widen_signed);
  for (const char* name : {"cvt.u32.u64", "cvt.s32.u64", "cvt.u32.s64", "cvt.s32.s64", "low.b32"})
    add(name, MotionRule::narrow);
  return rules;
}

std::int64_t times(std::int64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * b);
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// Keeps a moving operand from wrapping, so that it is the same number at every distance.
void keep_unsigned(const MovingOperand& operand, int lane, Reach& reach) {
  const Wide most = (Wide{1} << (8 * operand.bytes)) - 1;
  reach.keep_between(operand.value(lane), operand.rate(lane), 0, most);
}
void keep_signed(const MovingOperand& operand, int lane, Reach& reach) {
  const Wide most = (Wide{1} << (8 * operand.bytes - 1)) - 1;
  reach.keep_between(operand.signed_value(lane), operand.rate(lane), -most - 1, most);
}

/// d = a & b where b does not move: bits below the moving ones, or the others.
bool follow_mask(std::int64_t rate, std::uint64_t mask, unsigned width, std::int64_t& result, Reach& reach) {
  const int top = static_cast<int>(std::bit_width(mask));
  if (mask == 0 || top < static_cast<int>(width)) {
    reach.keep_multiple(rate, top);
    result = 0;
    return true;
  }
  const int low = std::countr_zero(mask);
  if (static_cast<int>(std::popcount(mask)) != top - low) return false;
  reach.keep_multiple(rate, low);
  result = rate;
  return true;
}

/// The comparison comes out the same.
void follow_comparison(MotionRule rule, Wide a, Wide a_rate, Wide b, Wide b_rate, Reach& reach) {
  const Wide above = a - b, rate = a_rate - b_rate;
  switch (rule) {
    case MotionRule::equal:
    case MotionRule::not_equal:
      if (above == 0 && rate != 0) reach.none_but_here();
      if (above > 0) reach.keep_positive(above - 1, rate);
      if (above < 0) reach.keep_positive(-above - 1, -rate);
      return;
    case MotionRule::less_unsigned:
    case MotionRule::less_signed:
    case MotionRule::greater_equal_unsigned:
    case MotionRule::greater_equal_signed:
      return above >= 0 ? reach.keep_positive(above, rate) : reach.keep_positive(-above - 1, -rate);
    default:
      return above > 0 ? reach.keep_positive(above - 1, rate) : reach.keep_positive(-above, -rate);
  }
}

bool is_comparison(MotionRule rule) {
  return rule >= MotionRule::equal;
}
bool is_signed(MotionRule rule) {
  return rule == MotionRule::less_signed || rule == MotionRule::less_equal_signed ||
         rule == MotionRule::greater_signed || rule == MotionRule::greater_equal_signed;
}

/// One lane of which at least one operand moves.
bool follow_lane(MotionRule rule, const std::array<MovingOperand, 3>& operands, unsigned result_bytes, int lane,
                 std::int64_t& result, Reach& reach) {
  const auto& [a, b, c] = operands;
  const std::int64_t a_rate = a.rate(lane), b_rate = b.rate(lane);
  if (is_comparison(rule)) {
    const bool with_sign = is_signed(rule);
    for (const MovingOperand* one : {&a, &b}) {
      if (one->rate(lane) == 0) continue;
      with_sign ? keep_signed(*one, lane, reach) : keep_unsigned(*one, lane, reach);
    }
    follow_comparison(rule, with_sign ? Wide{a.signed_value(lane)} : Wide{a.value(lane)}, a_rate,
                      with_sign ? Wide{b.signed_value(lane)} : Wide{b.value(lane)}, b_rate, reach);
    result = 0;
    return true;
  }
  if (rule == MotionRule::minimum_signed || rule == MotionRule::maximum_signed) {
    // The same one of the two stays the result.
    for (const MovingOperand* one : {&a, &b})
      if (one->rate(lane) != 0) keep_signed(*one, lane, reach);
    const Wide left = a.signed_value(lane), right = b.signed_value(lane);
    follow_comparison(MotionRule::less_signed, left, a_rate, right, b_rate, reach);
    result = (left < right) == (rule == MotionRule::minimum_signed) ? a_rate : b_rate;
    return true;
  }
  switch (rule) {
    case MotionRule::copy:
    case MotionRule::narrow:
      result = a_rate;
      return true;
    case MotionRule::add:
      result = sum(a_rate, b_rate);
      return true;
    case MotionRule::subtract:
      result = sum(a_rate, times(b_rate, ~std::uint64_t{0}));
      return true;
    case MotionRule::negate:
      result = times(a_rate, ~std::uint64_t{0});
      return true;
    case MotionRule::multiply:
      result = sum(times(a_rate, b.value(lane)), times(b_rate, a.value(lane)));
      return a_rate == 0 || b_rate == 0;
    case MotionRule::multiply_wide_unsigned:
      if (a_rate != 0) keep_unsigned(a, lane, reach);
      if (b_rate != 0) keep_unsigned(b, lane, reach);
      result = sum(times(a_rate, b.value(lane)), times(b_rate, a.value(lane)));
      return a_rate == 0 || b_rate == 0;
    case MotionRule::multiply_wide_signed:
      if (a_rate != 0) keep_signed(a, lane, reach);
      if (b_rate != 0) keep_signed(b, lane, reach);
      result = sum(times(a_rate, static_cast<std::uint64_t>(b.signed_value(lane))),
                   times(b_rate, static_cast<std::uint64_t>(a.signed_value(lane))));
      return a_rate == 0 || b_rate == 0;
    case MotionRule::shift_left:
      result = b.value(lane) < 8 * result_bytes ? times(a_rate, std::uint64_t{1} << b.value(lane)) : 0;
      return b_rate == 0;
    case MotionRule::bit_and:
      if (a_rate != 0 && b_rate != 0) return false;
      return a_rate != 0 ? follow_mask(a_rate, b.value(lane), 8 * result_bytes, result, reach)
                         : follow_mask(b_rate, a.value(lane), 8 * result_bytes, result, reach);
    case MotionRule::widen_unsigned:
      keep_unsigned(a, lane, reach);
      result = a_rate;
      return true;
    case MotionRule::widen_signed:
      keep_signed(a, lane, reach);
      result = a_rate;
      return true;
    case MotionRule::select:
      result = c.value(lane) != 0 ? a_rate : b_rate;
      return true;
    default:
      return false;
  }
}

}  // namespace

void Reach::keep_positive(Wide value, Wide rate) noexcept {
  if (rate == 0) return;
  const Wide steps = value / (rate > 0 ? rate : -rate);
  if (rate > 0) {
    least = static_cast<std::int64_t>(std::max<Wide>(least, -steps));
  } else {
    most = static_cast<std::int64_t>(std::min<Wide>(most, steps));
  }
}

void Reach::keep_multiple(std::int64_t rate, int bits) noexcept {
  if (rate == 0) return;
  const int own = std::countr_zero(static_cast<std::uint64_t>(rate));
  if (bits - own > kMostBits) return none_but_here();
  multiple_bits = std::max(multiple_bits, bits - own);
}

Motion motion_of(lanes::LaneFn function) {
  static const Rules rules = make_rules();
  const auto found = rules.find(function);
  return found == rules.end() ? Motion{} : found->second;
}

std::uint64_t MovingOperand::value(int lane) const noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, slot + bytes * static_cast<unsigned>(lane), bytes);
  return value;
}

std::int64_t MovingOperand::signed_value(int lane) const noexcept {
  const std::uint64_t bits = value(lane);
  return bytes == 8 ? static_cast<std::int64_t>(bits) : static_cast<std::int32_t>(bits);
}

bool follow(MotionRule rule, const std::array<MovingOperand, 3>& operands, unsigned result_bytes, LaneMask mask,
            Rates& rates, Reach& reach) {
  bool known = true;
  for_each_lane(mask, [&](int lane) {
    std::int64_t rate = 0;
    const bool moves = operands[0].rate(lane) != 0 || operands[1].rate(lane) != 0 || operands[2].rate(lane) != 0;
    if (moves)
      known = known && operands[2].rate(lane) == 0 && follow_lane(rule, operands, result_bytes, lane, rate, reach);
    rates[static_cast<std::size_t>(lane)] = result_bytes == 4 ? static_cast<std::int32_t>(rate) : rate;
  });
  return known;
}

}  // namespace softmax_dispatch::sim
