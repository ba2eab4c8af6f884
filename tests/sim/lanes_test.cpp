// The lane functions of the host's fastest instruction set and the portable ones give the same bits.
#include "device/sim/lanes/lanes.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "device/sim/exec/block.hpp"

namespace softmax_dispatch::sim::lanes {
namespace {

/// Slots of 64-bit lanes with edge values among random ones.
void fill(std::byte* slot, std::mt19937_64& random) {
  static constexpr std::uint64_t kEdges[] = {0,
                                             1,
                                             0x80000000,
                                             0x3f8000003f800000,
                                             0x7f8000007f800000,
                                             0xff800000ff800000,
                                             0x7fc000007fc00000,
                                             0x0000000100000001,
                                             0x007fffff80000001,
                                             0x7f7fffffff7fffff,
                                             0x7ff0000000000000,
                                             0x000fffffffffffff,
                                             ~std::uint64_t{0},
                                             0x7fff7c0000013c00};
  for (int i = 0; i < kLanes; ++i) {
    const std::uint64_t value = random() % 3 == 0 ? kEdges[random() % std::size(kEdges)] : random();
    std::memcpy(slot + 8 * i, &value, 8);
  }
}

TEST(Lanes, EveryInstructionSetGivesTheSameBits) {
  if (&table() == &portable_table()) GTEST_SKIP() << "this processor has only the portable instruction set";
  ASSERT_EQ(table().rows().size(), portable_table().rows().size());
  std::mt19937_64 random(3);
  const SlotBuffer slots(5 * 2 * kSlotBytes);
  const auto slot = [&](std::size_t i) { return slots.data() + i * 2 * kSlotBytes; };
  for (const auto& [name, row] : portable_table().rows()) {
    const Row* const fast = table().find(name);
    ASSERT_NE(fast, nullptr) << name;
    EXPECT_EQ(fast->bytes, row.bytes) << name;
    for (int round = 0; round < 200; ++round) {
      for (std::size_t i = 0; i < 3; ++i) fill(slot(i), random);
      const auto extra = static_cast<std::uint32_t>(random() % 256);
      row.function(slot(3), slot(0), slot(1), slot(2), extra);
      fast->function(slot(4), slot(0), slot(1), slot(2), extra);
      ASSERT_EQ(std::memcmp(slot(3), slot(4), std::size_t{row.bytes[0]} * kLanes), 0) << name;
    }
  }
}

TEST(Lanes, AResultMayReplaceASource) {
  std::mt19937_64 random(4);
  const SlotBuffer slots(4 * 2 * kSlotBytes);
  const auto slot = [&](std::size_t i) { return slots.data() + i * 2 * kSlotBytes; };
  for (const auto& [name, row] : table().rows()) {
    for (std::size_t source = 0; source < 3; ++source) {
      if (row.bytes[source + 1] != row.bytes[0]) continue;
      for (std::size_t i = 0; i < 3; ++i) fill(slot(i), random);
      row.function(slot(3), slot(0), slot(1), slot(2), 5);
      row.function(slot(source), slot(0), slot(1), slot(2), 5);
      EXPECT_EQ(std::memcmp(slot(3), slot(source), std::size_t{row.bytes[0]} * kLanes), 0) << name;
    }
  }
}

}  // namespace
}  // namespace softmax_dispatch::sim::lanes
