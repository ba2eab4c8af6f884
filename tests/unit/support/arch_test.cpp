#include "support/arch.hpp"

#include <gmock/gmock.h>

#include "support/expect_error.hpp"

namespace softmax_dispatch {
namespace {

using ::testing::HasSubstr;

TEST(ArchLimits, KnowsEveryArchitectureItNames) {
  for (const std::string& arch : known_archs()) EXPECT_EQ(arch_limits(arch).arch, arch);
  EXPECT_EQ(arch_limits("sm_75").max_threads_per_sm, 1024);
  EXPECT_EQ(arch_limits("sm_75").shared_bytes_per_block_optin, 65536);
  EXPECT_EQ(arch_limits("sm_90").max_threads_per_sm, 2048);
  EXPECT_EQ(arch_limits("sm_90").shared_bytes_per_block_optin, 232448);
  EXPECT_EQ(arch_limits("sm_103").major, 10);
  EXPECT_EQ(arch_limits("sm_103").minor, 3);
}

TEST(ArchLimits, RefusesOthersNamingThoseThatAreKnown) {
  for (const char* arch : {"sm_12", "sm_70", "75", "sm_90a", ""}) {
    EXPECT_THAT(testing::error_of(StatusCode::invalid_argument, [&] { arch_limits(arch); }),
                HasSubstr(fmt::format("architecture '{}' is unknown; use one of sm_75, sm_80,", arch)));
  }
}

// Published Tesla T4 figures: v3 at THREADS=256 with 161 registers, v3 at THREADS=512 with 89.
TEST(BlocksPerSm, MatchesThePublishedT4Figures) {
  const ArchLimits& t4 = arch_limits("sm_75");
  EXPECT_EQ(blocks_per_sm(t4, 256, 161, 1024), 1);
  EXPECT_DOUBLE_EQ(theoretical_occupancy(t4, 256, 161, 1024), 0.25);
  EXPECT_EQ(blocks_per_sm(t4, 512, 89, 1024), 1);
  EXPECT_DOUBLE_EQ(theoretical_occupancy(t4, 512, 89, 1024), 0.50);
}

// v6_double on the T4: registers alone allow 6 blocks of 256 threads (33 to 40 registers do), the SM's 32 warps 4.
TEST(BlocksPerSm, RegistersAndWarpsLimitAsPublishedForV6Double) {
  const ArchLimits& t4 = arch_limits("sm_75");
  ArchLimits without_warp_limit = t4;
  without_warp_limit.max_threads_per_sm = 1 << 20;
  for (int registers = 33; registers <= 40; ++registers) {
    EXPECT_EQ(blocks_per_sm(without_warp_limit, 256, registers, 256), 6) << registers;
    EXPECT_EQ(blocks_per_sm(t4, 256, registers, 256), 4) << registers;
    EXPECT_DOUBLE_EQ(theoretical_occupancy(t4, 256, registers, 256), 1.0) << registers;
  }
  EXPECT_EQ(blocks_per_sm(without_warp_limit, 256, 32, 256), 8);
  EXPECT_EQ(blocks_per_sm(without_warp_limit, 256, 41, 256), 5);
}

TEST(BlocksPerSm, PartitionsKeepRegistersApart) {
  // 168 registers need 5376 a warp: 3 warps in each partition of 16384, 12 in the SM, though 65536 / 5376 is 12.19.
  // 144 registers need 4608: 3 in a partition and 12 in the SM, though 65536 / 4608 is 14.2.
  EXPECT_EQ(blocks_per_sm(arch_limits("sm_90"), 32, 168, 0), 12);
  EXPECT_EQ(blocks_per_sm(arch_limits("sm_90"), 32, 144, 0), 12);
}

TEST(BlocksPerSm, SharedMemoryCountsWhatTheSystemKeepsOfEachBlock) {
  EXPECT_EQ(blocks_per_sm(arch_limits("sm_75"), 32, 16, 32768), 2);
  EXPECT_EQ(blocks_per_sm(arch_limits("sm_75"), 32, 16, 32769), 1);
  // 228 KiB hold three blocks of 75 KiB and the 1 KiB kept of each, not three of 76 KiB.
  EXPECT_EQ(blocks_per_sm(arch_limits("sm_90"), 32, 16, 75 * 1024), 3);
  EXPECT_EQ(blocks_per_sm(arch_limits("sm_90"), 32, 16, 76 * 1024), 2);
}

TEST(BlocksPerSm, IsZeroWhereTheBlockCannotBeLaunched) {
  const ArchLimits& limits = arch_limits("sm_80");
  EXPECT_EQ(blocks_per_sm(limits, 1056, 16, 0), 0);
  EXPECT_EQ(blocks_per_sm(limits, 0, 16, 0), 0);
  EXPECT_EQ(blocks_per_sm(limits, 1024, 80, 0), 0);
  EXPECT_EQ(blocks_per_sm(limits, 32, 256, 0), 0);
  EXPECT_EQ(blocks_per_sm(limits, 32, 16, limits.shared_bytes_per_block_optin + 1), 0);
  EXPECT_EQ(blocks_per_sm(limits, 32, 16, limits.shared_bytes_per_block_optin), 1);
  EXPECT_EQ(theoretical_occupancy(limits, 1056, 16, 0), 0.0);
}

}  // namespace
}  // namespace softmax_dispatch
