// What the simulator counts, against published figures and against counts worked out by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "sim/sim_fixture.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::sim {
namespace {

/// Counts of a whole launch of a product kernel; GRID and other axes that `constants` leaves out follow from the
/// problem.
LaunchCounts counts(const std::string& id, std::int64_t M, std::int64_t N, const Constants& constants,
                    std::uint64_t sampled_blocks = 0) {
  const auto device = simulated_t4({.sampled_blocks = sampled_blocks});
  const Variant& variant = registry().at(id);
  const Problem problem{DType::f32, M, N};
  const Constants all = variant.complete(problem, constants, {device->info().limits, device->info().sm_count});
  const auto kernel = device->load(product_ptx(id, variant.macros(DType::f32, all)), id);
  std::vector<float> input(static_cast<std::size_t>(M * N));
  std::mt19937 random(42);
  std::uniform_real_distribution<float> uniform(-10, 10);
  for (float& one : input) one = uniform(random);
  Buffer x(*device, input.size() * 4), y(*device, input.size() * 4);
  device->upload(x.get(), input.data(), x.bytes());
  return device->count({kernel.get(), variant.geometry(problem, all), x.get(), y.get(), M, N});
}

TEST(Counts, PublishedForTheT4) {
  const auto expect = [](const std::string& id, std::int64_t M, const Constants& constants, std::uint64_t loads,
                         std::uint64_t stores) {
    const LaunchCounts got = counts(id, M, 4096, constants);
    EXPECT_EQ(got.of(OpClass::global_load), loads) << id;
    EXPECT_EQ(got.of(OpClass::global_store), stores) << id;
  };
  expect("v2", 128, {{"THREADS", 256}}, 49152, 16384);
  expect("v3", 128, {{"THREADS", 256}, {"ITEMS", 16}}, 16384, 16384);
  expect("v5", 1024, {{"THREADS", 256}}, 262144, 131072);
  expect("v6", 1024, {{"THREADS", 256}, {"VEC_ITEMS", 4}}, 163840, 131072);
  expect("v6_double", 1024, {{"THREADS", 256}, {"VEC_ITEMS", 4}}, 65536, 32768);
  expect("v7", 1024, {{"THREADS", 256}, {"VEC_ITEMS", 4}}, 32768, 32768);
}

// Of a scalar scan of a row of N elements ceil(N / 32) warps have an element.
struct RowCount {
  std::int64_t N;
  std::uint64_t scan;  ///< ceil(N / 32)
  /// Warp accesses that read four rows by float4 where a row starts at a multiple of 16 bytes, else by scalars, and the
  /// tail of N mod 4. With N odd that is row 0 alone; with N = 250 rows 0 and 2.
  std::uint64_t four_rows;
};
constexpr RowCount kRows[] = {
    {1, 1, 4 * 1},                        // no group of four; the tail
    {3, 1, 4 * 1},                        // the same
    {31, 1, (1 + 1) + 3 * (4 + 1)},       // 7 groups in 1 warp, and the tail; by scalars 4 accesses a warp
    {33, 2, (1 + 1) + 3 * (4 + 1)},       // 8 groups
    {250, 8, 2 * (2 + 1) + 2 * (8 + 1)},  // 62 groups in 2 warps
    {255, 8, (2 + 1) + 3 * (8 + 1)},      // 63 groups
    {257, 9, (2 + 1) + 3 * (8 + 1)},      // 64 groups
    {1023, 32, (8 + 1) + 3 * (32 + 1)},   // 255 groups in 8 warps
};
constexpr std::uint64_t kWarps = 8;  // of a block of 256 threads

// Merging the states of 8 warps: each stores 2 words; the first loads 2 and stores 2; each loads 2.
constexpr std::uint64_t kMergeLoads = 2 + 2 * kWarps, kMergeStores = 2 * kWarps + 2;
// 5 rounds of 2 words, in each warp and once more in the first.
constexpr std::uint64_t kMergeShuffles = 5 * 2 * (kWarps + 1);
// A shuffle round merges two states by two exponentials.
constexpr std::uint64_t kMergeExponentials = kMergeShuffles;

TEST(Counts, OneBlockPerRowScalar) {
  for (const RowCount& row : kRows) {
    SCOPED_TRACE(row.N);
    const LaunchCounts got = counts("v5", 4, row.N, {{"THREADS", 256}});
    EXPECT_EQ(got.blocks, 4u);
    EXPECT_EQ(got.warps, 4 * kWarps);
    EXPECT_EQ(got.of(OpClass::global_load), 4 * 2 * row.scan) << "two scans";
    EXPECT_EQ(got.of(OpClass::global_store), 4 * row.scan);
    EXPECT_EQ(got.of(OpClass::shared_load), 4 * kMergeLoads);
    EXPECT_EQ(got.of(OpClass::shared_store), 4 * kMergeStores);
    EXPECT_EQ(got.of(OpClass::shuffle), 4 * kMergeShuffles);
    EXPECT_EQ(got.of(OpClass::barrier), 4 * 2 * kWarps);
    EXPECT_EQ(got.of(OpClass::special_function), 4 * (2 * row.scan + kMergeExponentials + kWarps))
        << "one for each element and scan, the merges, and one reciprocal a warp";
    EXPECT_EQ(got.bytes_load, static_cast<std::uint64_t>(4 * 2 * row.N * 4));
    EXPECT_EQ(got.bytes_store, static_cast<std::uint64_t>(4 * row.N * 4));
  }
}

TEST(Counts, OneBlockPerRowInRegisters) {
  for (const RowCount& row : kRows) {
    SCOPED_TRACE(row.N);
    const LaunchCounts got = counts("v7", 4, row.N, {{"THREADS", 256}});
    EXPECT_EQ(got.of(OpClass::global_load), row.four_rows) << "one scan";
    EXPECT_EQ(got.of(OpClass::global_store), row.four_rows);
    EXPECT_EQ(got.of(OpClass::shared_load), 4 * kMergeLoads);
    EXPECT_EQ(got.of(OpClass::shared_store), 4 * kMergeStores);
    EXPECT_EQ(got.of(OpClass::shuffle), 4 * kMergeShuffles);
    EXPECT_EQ(got.of(OpClass::barrier), 4 * 2 * kWarps);
    EXPECT_EQ(got.bytes_load, static_cast<std::uint64_t>(4 * row.N * 4));
  }
}

TEST(Counts, OneWarpPerRow) {
  for (const RowCount& row : kRows) {
    SCOPED_TRACE(row.N);
    // 13 rows: of the second block five warps are alive.
    const LaunchCounts got = counts("v8", 13, row.N, {{"THREADS", 256}});
    EXPECT_EQ(got.blocks, 2u);
    EXPECT_EQ(got.warps, 2 * kWarps);
    EXPECT_EQ(got.of(OpClass::global_load), 13 * 2 * row.scan);
    EXPECT_EQ(got.of(OpClass::global_store), 13 * row.scan);
    EXPECT_EQ(got.of(OpClass::shuffle), 13u * (5 * 2 + 2)) << "the merge, and two broadcasts";
    EXPECT_EQ(got.of(OpClass::shared_load) + got.of(OpClass::shared_store) + got.of(OpClass::barrier), 0u);
    EXPECT_EQ(got.of(OpClass::special_function), 13 * (2 * row.scan + 5 * 2 + 1));
  }
}

TEST(Counts, BlocksThatWalkOverRows) {
  for (const RowCount& row : kRows) {
    SCOPED_TRACE(row.N);
    // Three blocks for four rows: block 0 has two of them.
    const LaunchCounts got = counts("v9", 4, row.N, {{"THREADS", 256}, {"GRID", 3}});
    EXPECT_EQ(got.blocks, 3u);
    EXPECT_EQ(got.of(OpClass::global_load), 2 * row.four_rows) << "two scans";
    EXPECT_EQ(got.of(OpClass::global_store), row.four_rows);
    EXPECT_EQ(got.of(OpClass::shared_load), 4 * kMergeLoads);
    EXPECT_EQ(got.of(OpClass::shared_store), 4 * kMergeStores);
    EXPECT_EQ(got.of(OpClass::barrier), 4 * 3 * kWarps) << "one more, before shared memory is used again";
  }
}

TEST(Counts, SectorsOfAlignedAndMisalignedRows) {
  // A row of 257 floats that starts at float r * 257 of a sector's 8: of 4 rows, elements 0 .. 256, 257 .. 513, ...
  // lie in sectors 0 .. 32, 32 .. 64, 64 .. 96, 96 .. 128. Accesses of 32 elements that start in the middle of a sector
  // touch one more.
  const LaunchCounts got = counts("v5", 4, 257, {{"THREADS", 256}});
  // Row 0: 8 accesses of 4 sectors and one of 1. Rows 1 .. 3 start 1, 2 and 3 floats later: 8 accesses of 5 and one
  // of 1.
  EXPECT_EQ(got.sectors_store, (8u * 4 + 1) + 3 * (8u * 5 + 1));
  EXPECT_EQ(got.sectors_load, 2 * got.sectors_store);
}

/// Of the branches that a warp meets once per element, the ones whose lanes may part on the data.
TEST(Counts, BranchesOfTheBranchyControl) {
  constexpr std::uint64_t kWarpsOfGrid = 128 * 8, kSteps = 16384 / 256;
  const LaunchCounts got = counts("v4_branchy", 128, 16384, {{"THREADS", 256}});
  const BranchCount* update = nullptr;
  for (const BranchCount& one : got.branches) {
    if (one.executed == kWarpsOfGrid * kSteps && one.diverged > 0) {
      EXPECT_EQ(update, nullptr) << "two branches per element part";
      update = &one;
    }
  }
  ASSERT_NE(update, nullptr);
  // A new maximum comes at step k with probability 1 / k in each of 32 lanes; they part unless all or none meet one.
  double expected = 0;
  for (std::uint64_t k = 1; k <= kSteps; ++k) {
    const double p = 1.0 / static_cast<double>(k);
    expected += 1 - std::pow(p, 32) - std::pow(1 - p, 32);
  }
  EXPECT_NEAR(expected, 42.1, 0.05);
  const double share = static_cast<double>(update->diverged) / static_cast<double>(update->executed);
  EXPECT_NEAR(share, expected / kSteps, 0.02);
  std::cout << "v4_branchy: lanes part at " << 100 * share << " % of the updates, expected " << 100 * expected / kSteps
            << " %; uniformity of all branches " << 100 * got.branch_uniformity() << " %\n";
}

TEST(Counts, NoBranchOfTheScanDependsOnData) {
  for (const char* id : {"v4", "v4_opt", "v5"}) {
    SCOPED_TRACE(id);
    for (const BranchCount& one : counts(id, 128, 16384, {{"THREADS", 256}}).branches) {
      if (one.executed >= 128 * 8 * 32) {
        EXPECT_EQ(one.diverged, 0u) << one.where;
      }
    }
  }
}

TEST(Counts, OfASampleAreScaledToTheLaunch) {
  const LaunchCounts all = counts("v7", 1000, 260, {{"THREADS", 128}});
  const LaunchCounts sampled = counts("v7", 1000, 260, {{"THREADS", 128}}, 96);
  EXPECT_EQ(all.sampled_blocks, 1000u);
  EXPECT_EQ(sampled.sampled_blocks, 96u);
  EXPECT_EQ(sampled.blocks, 1000u);
  EXPECT_EQ(sampled.warp_instructions, all.warp_instructions);
  EXPECT_EQ(sampled.by_class, all.by_class);
  EXPECT_EQ(sampled.sectors_load, all.sectors_load);
  // Rows of all alignments are in the sample in the proportion of the grid.
  const LaunchCounts odd = counts("v7", 1000, 257, {{"THREADS", 128}});
  const LaunchCounts odd_sampled = counts("v7", 1000, 257, {{"THREADS", 128}}, 96);
  EXPECT_NEAR(static_cast<double>(odd_sampled.of(OpClass::global_load)),
              static_cast<double>(odd.of(OpClass::global_load)),
              0.001 * static_cast<double>(odd.of(OpClass::global_load)));
}

TEST(Counts, OpcodesAndClassesAgree) {
  const LaunchCounts got = counts("v7", 16, 1024, {{"THREADS", 256}});
  std::uint64_t by_class = 0, by_opcode = 0;
  for (const std::uint64_t one : got.by_class) by_class += one;
  for (const auto& [opcode, one] : got.by_opcode) by_opcode += one;
  EXPECT_EQ(by_class, got.warp_instructions);
  EXPECT_EQ(by_opcode, got.warp_instructions);
  EXPECT_EQ(got.by_opcode.at("ex2.approx.ftz.f32") + got.by_opcode.at("rcp.rn.f32"), got.of(OpClass::special_function));
  EXPECT_EQ(got.by_opcode.at("bar.sync"), got.of(OpClass::barrier));
}

}  // namespace
}  // namespace softmax_dispatch::sim
