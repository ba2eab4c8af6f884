#include <gtest/gtest.h>

#include "support/embedded.hpp"
#include "table/table.hpp"
#include "unit/table/sample.hpp"

namespace softmax_dispatch::table {
namespace {

/// The rule of docs/table.md, word for word.
const std::string* chosen_by_the_rule(const Table& table, const Problem& problem, Alignment alignment) {
  const auto within = [](std::int64_t value, std::int64_t from, std::int64_t to) {
    return value >= from && value <= to;
  };
  for (const Pin& pin : table.pins) {
    if (pin.dtype == problem.dtype && within(problem.M, pin.M_from, pin.M_to) &&
        within(problem.N, pin.N_from, pin.N_to)) {
      return &pin.use;
    }
  }
  for (const OpTable& op : table.tables) {
    if (op.dtype != problem.dtype) continue;
    for (const Band& band : op.bands) {
      if (!within(std::max<std::int64_t>(problem.M, 1), band.M_from, band.M_to)) continue;
      const Threshold* best = nullptr;
      for (const Threshold& threshold : band.thresholds) {
        if (threshold.alignment != Alignment::any && threshold.alignment != alignment) continue;
        if (problem.N <= threshold.N_to && (!best || threshold.N_to < best->N_to)) best = &threshold;
      }
      return &best->use;
    }
  }
  return nullptr;
}

TEST(Lookup, IsTotalAndFollowsTheRule) {
  RandomTables random(1);
  for (int i = 0; i < 300; ++i) {
    // As built by hand, and as read.
    const Table table = i % 2 == 0 ? random.next() : read(write(random.next()), "t.yaml", known_variant);
    ASSERT_NO_THROW(validate(table, known_variant)) << write(table);
    for (int j = 0; j < 300; ++j) {
      const Problem problem{DType::f32, random.size(), random.size()};
      const Alignment alignment = random.chance(2) ? Alignment::aligned : Alignment::unaligned;
      const Choice choice = lookup(table, problem, alignment);
      ASSERT_NE(choice.kernel, nullptr) << to_string(problem) << '\n' << write(table);
      ASSERT_EQ(choice.kernel->name, *chosen_by_the_rule(table, problem, alignment)) << to_string(problem);
      ASSERT_EQ(choice.kernel->config.dtype, problem.dtype);
      ASSERT_EQ(choice.pin != nullptr, choice.threshold == nullptr);
    }
  }
}

TEST(Lookup, BoundsAreInclusiveAndPinsComeFirst) {
  const Table table = sample_table();
  const auto chosen = [&](std::int64_t M, std::int64_t N, Alignment alignment) {
    return lookup(table, Problem{DType::f32, M, N}, alignment).kernel->name;
  };
  EXPECT_EQ(chosen(39, 1024, Alignment::unaligned), "v3_i4_t256");
  EXPECT_EQ(chosen(39, 1025, Alignment::unaligned), "v9_g264_t256_vi4");
  EXPECT_EQ(chosen(40, 1024, Alignment::unaligned), "v9_g264_t256_vi4");
  EXPECT_EQ(chosen(40, 1024, Alignment::aligned), "v7_t256_vi4");
  EXPECT_EQ(chosen(40, 1024, Alignment::any), "v7_t256_vi4");
  EXPECT_EQ(chosen(8, 200, Alignment::aligned), "v7_t256_vi4");
  EXPECT_EQ(chosen(8, 201, Alignment::aligned), "v3_i4_t256");
  EXPECT_EQ(chosen(INT64_MAX, INT64_MAX, Alignment::aligned), "v9_g264_t256_vi4");
  EXPECT_EQ(chosen(0, 0, Alignment::aligned), "v3_i4_t256");
}

TEST(Lookup, SaysWhatDecided) {
  const Table table = sample_table();
  const Choice pinned = lookup(table, {DType::f32, 8, 100}, Alignment::aligned);
  EXPECT_EQ(pinned.pin, &table.pins[0]);
  EXPECT_EQ(pinned.band, nullptr);
  const Choice decided = lookup(table, {DType::f32, 41, 9000}, Alignment::unaligned);
  EXPECT_EQ(decided.pin, nullptr);
  EXPECT_EQ(decided.band, &table.tables[0].bands[1]);
  EXPECT_EQ(decided.threshold, &table.tables[0].bands[1].thresholds[2]);
}

TEST(Lookup, FindsAKernelThatMovedInTheListAfterReading) {
  Table table = read(write(sample_table()), "t.yaml", known_variant);
  std::swap(table.kernels[0], table.kernels[1]);
  EXPECT_EQ(lookup(table, {DType::f32, 1, 1024}, Alignment::aligned).kernel->name, "v3_i4_t256");
  table.kernels.erase(table.kernels.begin(), table.kernels.begin() + 2);
  EXPECT_EQ(lookup(table, {DType::f32, 1, 2000}, Alignment::aligned).kernel->name, "v9_g264_t256_vi4");
}

TEST(Lookup, GivesNothingForATypeWithoutATable) {
  EXPECT_EQ(lookup(sample_table(), {DType::bf16, 1, 1}, Alignment::aligned).kernel, nullptr);
  EXPECT_EQ(lookup(Table{}, {DType::f32, 1, 1}, Alignment::aligned).kernel, nullptr);
}

TEST(AlignmentOf, IsAlignedWhereEveryRowOfBothStartsAt16Bytes) {
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<const void*>(address); };
  EXPECT_EQ(alignment_of(at(4096), at(8192), 1024, 4), Alignment::aligned);
  EXPECT_EQ(alignment_of(at(4096), at(8192), 1026, 4), Alignment::unaligned);
  EXPECT_EQ(alignment_of(at(4100), at(8192), 1024, 4), Alignment::unaligned);
  EXPECT_EQ(alignment_of(at(4096), at(8200), 1024, 4), Alignment::unaligned);
  EXPECT_EQ(alignment_of(at(4096), at(8192), 1028, 2), Alignment::unaligned);
  EXPECT_EQ(alignment_of(at(4096), at(8192), 1032, 2), Alignment::aligned);
}

TEST(Shipped, IsTheValidTableOfExactlyThatArchitecture) {
  for (const EmbeddedFile& file : embedded_tables()) {
    const Table table = read(file.text, file.name, [](std::string_view) { return true; });
    EXPECT_EQ(file.name, table.device.arch + ".yaml");
    EXPECT_EQ(shipped(table.device.arch), file.text);
    EXPECT_EQ(write(table), file.text);
  }
  for (const char* arch : {"", "sm_", "sm_12", "sm_90a", "sm_90.yaml"}) EXPECT_EQ(shipped(arch), std::nullopt) << arch;
}

}  // namespace
}  // namespace softmax_dispatch::table
