#include "table/snapshot.hpp"

#include <gtest/gtest.h>

#include "support/embedded.hpp"
#include "unit/table/sample.hpp"

namespace softmax_dispatch::table {
namespace {

bool any_variant(std::string_view) {
  return true;
}

/// Positions are not compared by ==.
void expect_same(const Table& got, const Table& expected) {
  ASSERT_EQ(got, expected);
  for (std::size_t p = 0; p < expected.pins.size(); ++p)
    EXPECT_EQ(got.pins[p].kernel.index, expected.pins[p].kernel.index);
  for (std::size_t t = 0; t < expected.tables.size(); ++t) {
    for (std::size_t b = 0; b < expected.tables[t].bands.size(); ++b) {
      const auto& of_got = got.tables[t].bands[b].thresholds;
      const auto& of_expected = expected.tables[t].bands[b].thresholds;
      for (std::size_t i = 0; i < of_expected.size(); ++i)
        EXPECT_EQ(of_got[i].kernel.index, of_expected[i].kernel.index);
    }
  }
}

TEST(Snapshot, GivesTheTableAgain) {
  RandomTables random(3);
  for (int i = 0; i < 100; ++i) {
    const Table table = read(write(i == 0 ? sample_table() : random.next()), "t.yaml", known_variant);
    const auto again = from_snapshot(to_snapshot(table));
    ASSERT_TRUE(again.has_value());
    expect_same(*again, table);
  }
  for (const EmbeddedFile& file : embedded_tables()) {
    const Table table = read(file.text, file.name, any_variant);
    const auto again = from_snapshot(to_snapshot(table));
    ASSERT_TRUE(again.has_value()) << file.name;
    expect_same(*again, table);
    EXPECT_EQ(write(*again), file.text);
  }
}

TEST(Snapshot, OfWhichAPartIsMissingOrTooManyIsNone) {
  const std::string bytes = to_snapshot(sample_table());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(from_snapshot(std::string_view(bytes).substr(0, size)).has_value()) << size;
  EXPECT_FALSE(from_snapshot(bytes + '\0').has_value());
}

TEST(Snapshot, AnyByteMayBeDamaged) {
  const std::string bytes = to_snapshot(sample_table());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      if (const auto table = from_snapshot(damaged)) lookup(*table, {DType::f32, 8, 150}, Alignment::aligned);
    }
  }
}

}  // namespace
}  // namespace softmax_dispatch::table
