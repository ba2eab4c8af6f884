// How results follow their operands: within its reach, a rule predicts what the lane function computes.
#include "device/sim/exec/repeat/motion.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "device/sim/exec/block.hpp"

namespace softmax_dispatch::sim {
namespace {

constexpr std::size_t kWide = 2 * lanes::kSlotBytes;

const char* const kFunctions[] = {
    "mov.b32",     "mov.b64",     "add.u32",     "add.u64",      "sub.u32",      "sub.u64",     "neg.u32",
    "neg.u64",     "mul.lo.u32",  "mul.lo.u64",  "mul.wide.u32", "mul.wide.s32", "shl.b32",     "shl.b64",
    "and.b32",     "and.b64",     "selp.b32",    "selp.b64",     "cvt.u64.u32",  "cvt.s64.s32", "cvt.u64.s32",
    "cvt.u32.u64", "low.b32",     "setp.eq.u32", "setp.eq.u64",  "setp.ne.u32",  "setp.ne.u64", "setp.lt.u32",
    "setp.lt.s32", "setp.lt.u64", "setp.lt.s64", "setp.le.u32",  "setp.le.s32",  "setp.le.u64", "setp.le.s64",
    "setp.gt.u32", "setp.gt.s32", "setp.gt.u64", "setp.gt.s64",  "setp.ge.u32",  "setp.ge.s32", "setp.ge.u64",
    "setp.ge.s64", "cvt.u32.s32", "cvt.s32.s64", "min.s32",      "min.s64",      "max.s32",     "max.s64"};

class Following {
 public:
  explicit Following(const lanes::Row& row) : row_(row), slots_(5 * kWide) {}

  /// Values of lane i and rates, of small numbers and of large ones; the third operand is a predicate.
  void choose(std::mt19937_64& random) {
    for (std::size_t i = 0; i < 3; ++i) {
      moving_[i] = i < 2 && random() % 2 == 0;
      for (int lane = 0; lane < lanes::kLanes; ++lane) {
        value_[i][at(lane)] = i == 2 ? (random() % 2 == 0 ? 0 : ~std::uint64_t{0}) : number(random);
        std::int64_t rate = moving_[i] ? static_cast<std::int64_t>(number(random)) : 0;
        if (row_.bytes[i + 1] == 4) rate = static_cast<std::int32_t>(rate);
        rate_[i][at(lane)] = rate;
      }
    }
  }

  /// The result, with every operand moved by the distance.
  std::vector<std::uint64_t> result(std::int64_t distance) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (row_.bytes[i + 1] == 0) continue;
      for (int lane = 0; lane < lanes::kLanes; ++lane) {
        const std::uint64_t moved =
            value_[i][at(lane)] + static_cast<std::uint64_t>(rate_[i][at(lane)]) * static_cast<std::uint64_t>(distance);
        std::memcpy(slot(i) + row_.bytes[i + 1] * at(lane), &moved, row_.bytes[i + 1]);
      }
    }
    row_.function(slot(3), slot(0), slot(1), slot(2), 0);
    std::vector<std::uint64_t> values(lanes::kLanes);
    for (int lane = 0; lane < lanes::kLanes; ++lane)
      std::memcpy(&values[at(lane)], slot(3) + row_.bytes[0] * at(lane), row_.bytes[0]);
    return values;
  }

  bool follow(Rates& rates, Reach& reach) {
    std::array<MovingOperand, 3> operands;
    for (std::size_t i = 0; i < 3; ++i) {
      if (row_.bytes[i + 1] != 0) operands[i] = {slot(i), row_.bytes[i + 1], moving_[i] ? &rate_[i] : nullptr};
    }
    return sim::follow(motion_of(row_.function).rule, operands, row_.bytes[0], kAllLanes, rates, reach);
  }

 private:
  static std::size_t at(int lane) { return static_cast<std::size_t>(lane); }
  std::byte* slot(std::size_t i) { return slots_.data() + i * kWide; }
  /// All lanes draw from one of a few scales, so that comparisons come out either way.
  static std::uint64_t number(std::mt19937_64& random) {
    const std::uint64_t small = random() % 64;
    switch (random() % 8) {
      case 0:
        return 0;
      case 1:
        return std::uint64_t{1} << small;
      case 2:
        return ~std::uint64_t{0} << (small % 32);
      case 3:
        return random();
      case 4:
        return 0 - small;
      default:
        return small;
    }
  }

  const lanes::Row& row_;
  SlotBuffer slots_;
  std::array<std::array<std::uint64_t, lanes::kLanes>, 3> value_{};
  std::array<Rates, 3> rate_{};
  std::array<bool, 3> moving_{};
};

TEST(Motion, RulesPredictTheLaneFunctions) {
  std::mt19937_64 random(5);
  for (const char* name : kFunctions) {
    const lanes::Row* const row = lanes::table().find(name);
    ASSERT_NE(row, nullptr) << name;
    ASSERT_NE(motion_of(row->function).rule, MotionRule::unknown) << name;
    Following following(*row);
    int tried = 0;
    for (int round = 0; round < 3000; ++round) {
      following.choose(random);
      const std::vector<std::uint64_t> here = following.result(0);
      Rates rates{};
      Reach reach;
      if (!following.follow(rates, reach)) continue;
      const std::int64_t step = std::int64_t{1} << reach.multiple_bits;
      const std::int64_t distances[] = {step,
                                        -step,
                                        2 * step,
                                        7 * step,
                                        -100 * step,
                                        reach.most,
                                        reach.least,
                                        reach.most / step * step,
                                        reach.least / step * step};
      for (const std::int64_t distance : distances) {
        if (!reach.holds(distance) || distance == 0) continue;
        ++tried;
        const std::vector<std::uint64_t> there = following.result(distance);
        for (std::size_t lane = 0; lane < here.size(); ++lane) {
          std::uint64_t expected =
              here[lane] + static_cast<std::uint64_t>(rates[lane]) * static_cast<std::uint64_t>(distance);
          if (row->bytes[0] == 4) expected = static_cast<std::uint32_t>(expected);
          ASSERT_EQ(there[lane], expected) << name << " lane " << lane << " distance " << distance;
        }
      }
    }
    EXPECT_GT(tried, 300) << name << ": too few cases to mean anything";
  }
}

TEST(Motion, ReachOfAComparison) {
  // row < M with row = 10 + d: as long as row stays below M = 100, and is no negative number.
  Reach reach;
  reach.keep_positive(100 - 10 - 1, -1);
  reach.keep_between(10, 1, 0, 1000);
  EXPECT_TRUE(reach.holds(89));
  EXPECT_FALSE(reach.holds(90));
  EXPECT_TRUE(reach.holds(-10));
  EXPECT_FALSE(reach.holds(-11));
  // (address & 15) with rows of 12 bytes comes back every fourth row.
  reach.keep_multiple(12, 4);
  EXPECT_TRUE(reach.holds(8));
  EXPECT_FALSE(reach.holds(6));
}

TEST(Motion, WhatNobodyKnowsIsNotFollowed) {
  const lanes::Row* const row = lanes::table().find("rem.u32");
  const SlotBuffer slots(3 * kWide);
  std::memset(slots.data(), 1, slots.bytes());
  Rates moving;
  moving.fill(1);
  Rates rates{};
  Reach reach;
  const MovingOperand still{slots.data(), 4, nullptr}, moves{slots.data() + kWide, 4, &moving};
  EXPECT_FALSE(follow(motion_of(row->function).rule, {moves, still, {}}, 4, kAllLanes, rates, reach));
  // The product of two that move is no multiple of the distance.
  const lanes::Row* const product = lanes::table().find("mul.lo.u32");
  EXPECT_FALSE(follow(motion_of(product->function).rule, {moves, moves, {}}, 4, kAllLanes, rates, reach));
  EXPECT_TRUE(follow(motion_of(product->function).rule, {moves, still, {}}, 4, kAllLanes, rates, reach));
}

}  // namespace
}  // namespace softmax_dispatch::sim
