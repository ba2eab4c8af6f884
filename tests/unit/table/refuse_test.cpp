#include <gmock/gmock.h>

#include <random>

#include "support/decimal_comma.hpp"
#include "support/expect_error.hpp"
#include "table/table.hpp"
#include "unit/table/sample.hpp"

namespace softmax_dispatch::table {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

/// The message with which the sample is refused once the first `from` is replaced by `to`.
std::string refusal(std::string_view from, std::string_view to) {
  std::string text = write(sample_table());
  const std::size_t at = text.find(from);
  if (at == std::string::npos) {
    ADD_FAILURE() << "the sample has no '" << from << "'";
    return {};
  }
  text.replace(at, from.size(), to);
  return testing::error_of(StatusCode::bad_table, [&] { read(text, "t.yaml", known_variant); });
}

TEST(TableRefuses, TruncationAtEveryByte) {
  const std::string text = write(sample_table());
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::string message = testing::error_of(
        StatusCode::bad_table, [&] { read(std::string_view(text).substr(0, size), "t.yaml", known_variant); });
    ASSERT_THAT(message, AllOf(StartsWith("t.yaml:"), HasSubstr("truncated"))) << "cut at byte " << size;
  }
}

TEST(TableRefuses, UnknownKeysNamingTheNearest) {
  EXPECT_THAT(refusal("seed: 42", "sed: 42"),
              MatchesRegex("t.yaml:[0-9]+: sweep.sed: key 'sed' is unknown; did you mean 'seed'\\?"));
  EXPECT_THAT(refusal("library:", "libary:"), HasSubstr("did you mean 'library'?"));
  EXPECT_THAT(refusal("stack_bytes: 0", "stack: 0"), HasSubstr("kernels[0].resources.stack: key 'stack' is unknown"));
  EXPECT_THAT(refusal("N_to: 1024, use", "N_too: 1024, use"), HasSubstr("did you mean 'N_to'?"));
}

TEST(TableRefuses, DuplicateAndMissingKeys) {
  EXPECT_THAT(refusal("  seed: 42\n", "  seed: 42\n  seed: 43\n"), HasSubstr("key 'seed' is given twice"));
  EXPECT_THAT(refusal("use: v3_i4_t256, ", "use: v3_i4_t256, use: v3_i4_t256, "),
              HasSubstr("key 'use' is given twice"));
  EXPECT_THAT(refusal("  partial: false\n", ""), HasSubstr("sweep: key 'partial' is missing"));
  EXPECT_THAT(refusal("schema: 1\n", ""), HasSubstr("key 'schema' is missing"));
  EXPECT_THAT(refusal(", alignment: any", ""),
              HasSubstr("tables[0].bands[0].thresholds[0]: key 'alignment' is missing"));
}

TEST(TableRefuses, OtherSchemas) {
  EXPECT_THAT(refusal("schema: 1\nlibrary: \"0.1.0\"", "schema: 2\nlibrary: \"3.2.1\"\nnew_key: x"),
              AllOf(HasSubstr("schema: 2 is newer than 1"), HasSubstr("use version 3.2.1 or newer"),
                    HasSubstr("softmax-tune")));
  EXPECT_THAT(refusal("schema: 1", "schema: 0"), HasSubstr("schema: must be 1, but is 0"));
  EXPECT_THAT(refusal("schema: 1", "schema: one"), HasSubstr("must be an integer"));
}

TEST(TableRefuses, DecimalCommas) {
  const testing::DecimalComma comma;
  EXPECT_THAT(refusal("duration_s: 57.25", "duration_s: 57,25"),
              HasSubstr("sweep.duration_s: '57,25' has a decimal comma; write it with a decimal point: 57.25"));
  EXPECT_THAT(refusal("margin_pct: 3.1", "margin_pct: 3,1"),
              HasSubstr("thresholds[0].margin_pct: '3,1' has a decimal comma; write it with a decimal point: 3.1"));
  EXPECT_THAT(refusal("regret_geomean: 1.004", "regret_geomean: 1,004"), HasSubstr("'1,004' has a decimal comma"));
}

TEST(TableRefuses, UnknownNames) {
  EXPECT_THAT(refusal("variant: v7", "variant: v77"),
              AllOf(HasSubstr("kernels[1].variant: variant 'v77' does not exist"), HasSubstr("softmax-tune")));
  EXPECT_THAT(refusal("use: v9_g264_t256_vi4, alignment: any", "use: v9, alignment: any"),
              HasSubstr("tables[0].bands[0].thresholds[1].use: 'v9' is no name of the list of kernels"));
  EXPECT_THAT(refusal("use: v7_t256_vi4}", "use: v8}"), HasSubstr("pins[0].use: 'v8' is no name"));
  EXPECT_THAT(refusal("- name: v7_t256_vi4", "- name: v3_i4_t256"),
              HasSubstr("kernels[1].name: 'v3_i4_t256' names two kernels"));
  EXPECT_THAT(refusal("- name: v7_t256_vi4", "- name: \"\""), HasSubstr("kernels[1].name: must not be empty"));
  EXPECT_THAT(refusal("op: softmax", "op: softmin"), HasSubstr("tables[0].op: 'softmin' is unknown"));
  EXPECT_THAT(refusal("dtype: f32", "dtype: f64"), HasSubstr("must be f32, f16 or bf16, but is 'f64'"));
  EXPECT_THAT(refusal("alignment: any", "alignment: none"),
              HasSubstr("must be any, aligned or unaligned, but is 'none'"));
  EXPECT_THAT(refusal("kind: measured", "kind: guessed"), HasSubstr("must be measured or simulated, but is 'guessed'"));
  EXPECT_THAT(refusal("dtype: f32\n    variant: v7", "dtype: f16\n    variant: v7"),
              HasSubstr("computes f16, not f32"));
}

TEST(TableRefuses, BandsThatAreNotATotalOrder) {
  EXPECT_THAT(refusal("M: [1, 39]", "M: [2, 39]"), HasSubstr("bands[0].M: starts at 2, but the band before ends at 0"));
  EXPECT_THAT(refusal("M: [40, open]", "M: [41, open]"),
              HasSubstr("bands[1].M: starts at 41, but the band before ends at 39"));
  EXPECT_THAT(refusal("M: [1, 39]", "M: [1, open]"), HasSubstr("starts at 40, but the band before ends at open"));
  EXPECT_THAT(refusal("M: [40, open]", "M: [40, 99]"),
              HasSubstr("bands[1].M: ends at 99, but the last band must end open"));
  EXPECT_THAT(refusal("M: [40, open]", "M: [40, 39]"), HasSubstr("[40, 39] is no range of M"));
  EXPECT_THAT(refusal("M: [40, open]", "M: [open, 40]"), HasSubstr("must be an integer"));
  EXPECT_THAT(refusal("M: [40, open]", "M: [40]"), HasSubstr("must be a list of two numbers, but has 1"));
  EXPECT_THAT(refusal("M: [40, open]", "M: [40, 9223372036854775807]"), HasSubstr("for no bound write open"));
  EXPECT_THAT(refusal("M: [8, 8]", "M: [8, 7]"), HasSubstr("pins[0].M: [8, 7] is no range of M"));
}

TEST(TableRefuses, ThresholdsThatAreNotATotalOrder) {
  EXPECT_THAT(refusal("{N_to: 1024, use", "{N_to: open, use"),
              HasSubstr("ends at open, but kernel 'v3_i4_t256' is verified"));
  EXPECT_THAT(refusal("{N_to: 4096, use: v7_t256_vi4", "{N_to: open, use: v9_g264_t256_vi4"),
              HasSubstr("thresholds[1].N_to: is open, but the threshold before it for 'aligned' rows is open"));
  EXPECT_THAT(refusal("{N_to: 1024, use", "{N_to: 0, use"), HasSubstr("must be at least 1, but is 0"));
  EXPECT_THAT(refusal("          - {N_to: open, use: v9_g264_t256_vi4, alignment: any}\n", ""),
              HasSubstr("bands[0].thresholds: end at 1024 for 'any' rows; the last one must be open"));
  EXPECT_THAT(refusal("alignment: unaligned", "alignment: any"),
              HasSubstr("bands[1].thresholds: must be all for 'any' rows"));
  EXPECT_THAT(refusal("          - {N_to: open, use: v9_g264_t256_vi4, alignment: unaligned}\n", ""),
              HasSubstr("some for 'aligned' and some for 'unaligned'"));
  EXPECT_THAT(refusal("crossover_N: [1024, 1025]", "crossover_N: [1025, 1024]"), HasSubstr("is no range of N"));
}

TEST(TableRefuses, RowsForWhichAKernelIsNotVerified) {
  EXPECT_THAT(refusal("{N_to: 1024, use", "{N_to: 1025, use"),
              HasSubstr("thresholds[0].N_to: ends at 1025, but kernel 'v3_i4_t256' is verified for rows up to 1024"));
  EXPECT_THAT(refusal("N: [100, 200]", "N: [100, open]"),
              HasSubstr("pins[0].N: ends at open, but kernel 'v7_t256_vi4' is verified for rows up to 4099"));
  EXPECT_THAT(refusal("worst_error: 0.3125", "worst_error: 1.5"),
              HasSubstr("verification.worst_error: must be from 0 to 1"));
}

TEST(TableRefuses, EmptyAndDoubleTables) {
  Table table = sample_table();
  table.tables.push_back(table.tables[0]);
  const auto message = [&] {
    return testing::error_of(StatusCode::bad_table, [&] { validate(table, known_variant); });
  };
  EXPECT_EQ(message(), "the table's tables[1]: is the second table for f32 softmax; remove one");
  table.tables.pop_back();
  table.tables[0].bands.clear();
  EXPECT_THAT(message(), HasSubstr("tables[0].bands: must hold a band"));
}

TEST(TableRefuses, WhatIsNoTable) {
  const auto message = [](std::string_view text) {
    return testing::error_of(StatusCode::bad_table, [&] { read(text, "t.yaml", known_variant); });
  };
  EXPECT_THAT(message("{\"schema\": 1}\n"), HasSubstr("does not end with the line '...'"));
  EXPECT_THAT(message("...\n"), HasSubstr("nothing but comments"));
  EXPECT_THAT(message("- 1\n...\n"), HasSubstr("must be a map of keys and values, but is a list"));
}

/// Damage of any kind gives a bad_table error or a table in which every shape still has its kernel, never anything
/// else.
void expect_refused_or_valid(const std::string& text) {
  try {
    const Table table = read(text, "t.yaml", known_variant);
    ASSERT_NO_THROW(validate(table, known_variant)) << text;
  } catch (const Error& error) {
    ASSERT_EQ(error.code(), StatusCode::bad_table) << error.what();
  }
}

TEST(TableRefuses, DamageOfAnyKind) {
  const std::string text = write(sample_table());
  constexpr std::string_view kBytes = "0:,[]{}\"'#-&*!|> \n\t\r\x01\x80\xff~ax";
  std::mt19937_64 random(7);
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = kBytes[random() % kBytes.size()];
    expect_refused_or_valid(damaged);
  }
  for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
    std::string damaged = text;
    expect_refused_or_valid(damaged.erase(begin, text.find('\n', begin) + 1 - begin));
  }
}

}  // namespace
}  // namespace softmax_dispatch::table
