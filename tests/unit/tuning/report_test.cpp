#include "tuning/report.hpp"

#include <gmock/gmock.h>

#include <set>
#include <string>

#include "support/text.hpp"
#include "tuning/fit.hpp"
#include "unit/tuning/sample_journal.hpp"

namespace softmax_dispatch::tuning::testing {
namespace {

using ::testing::HasSubstr;

table::Table sample_table() {
  Journal journal = sample_journal(std::vector<std::string>{"v7 THREADS=256 VEC_ITEMS=4", "unbounded THREADS=256"});
  for (const std::int64_t M : {1, 100}) {
    journal.measurements.push_back(measured(parse_config("v7 THREADS=256 VEC_ITEMS=4"), M, 1024, M == 1 ? 3 : 4));
    journal.measurements.push_back(measured(parse_config("unbounded THREADS=256"), M, 1024, M == 1 ? 4.5 : 2));
    journal.measurements.push_back(measured(parse_config("unbounded THREADS=256"), M, 1023, 2));
  }
  return fit(journal, registry(), nullptr);
}

TEST(AlignedTable, IsMarkdownWithEqualWidths) {
  EXPECT_EQ(aligned_table({{"name", "us"}, {"a", "12.50"}, {"long name"}}, {1}),
            "| name      |    us |\n"
            "|-----------|------:|\n"
            "| a         | 12.50 |\n"
            "| long name |       |\n");
}

TEST(ThresholdsText, SaysTheRuleInWords) {
  const std::string text = thresholds_text(sample_table());
  EXPECT_THAT(text, HasSubstr("### f32 softmax on imagined GPU (sm_90, measured)\n"));
  EXPECT_THAT(
      text,
      HasSubstr("| M <= 10 | N <= 4099 | aligned   | v7 THREADS=256 VEC_ITEMS=4 |  50.0 % | unbounded THREADS=256"));
  EXPECT_THAT(text, HasSubstr("| M <= 10 | N >= 4100 | aligned   | unbounded THREADS=256 "));
  EXPECT_THAT(text, HasSubstr("| M <= 10 | any N     | unaligned | unbounded THREADS=256 "));
  EXPECT_THAT(text, HasSubstr("| M >= 11 | any N     | aligned   | unbounded THREADS=256 "));
}

TEST(ThresholdsText, EveryLineOfATableIsAsWideAsItsHeader) {
  std::set<std::size_t> widths;
  const std::string text = thresholds_text(sample_table());
  for (const std::string_view line : split(text, '\n'))
    if (line.starts_with("|")) widths.insert(line.size());
  EXPECT_EQ(widths.size(), 1U);
}

TEST(ThresholdsText, ShowsPinsAndSaysWhatIsNotMeasured) {
  table::Table table = sample_table();
  table.pins.push_back({DType::f32, 1, table::kOpen, 300, 400, table.kernels.front().name});
  table.device.simulated = true;
  table.sweep.partial = true;
  const std::string text = thresholds_text(table);
  EXPECT_THAT(text, HasSubstr("simulated"));
  EXPECT_THAT(text, HasSubstr("cut short"));
  EXPECT_THAT(text, HasSubstr("| any M | 300 <= N <= 400 | "));
}

}  // namespace
}  // namespace softmax_dispatch::tuning::testing
