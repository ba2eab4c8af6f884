#include "tuning/journal.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include "support/decimal_comma.hpp"
#include "support/expect_error.hpp"
#include "support/files.hpp"
#include "unit/tuning/sample_journal.hpp"

namespace softmax_dispatch::tuning::testing {
namespace {

using softmax_dispatch::testing::error_of;
using ::testing::HasSubstr;

const Config kV7{"v7", {{"THREADS", 256}, {"VEC_ITEMS", 4}}};

class JournalTest : public ::testing::Test {
 protected:
  /// One event of each kind.
  void write() const {
    JournalWriter writer(path_);
    writer.append(sample_run());
    CompileEvent failed;
    failed.config = {"v3", {{"ITEMS", 128}, {"THREADS", 1024}}};
    failed.error = "v3.cu(3): error: \"quoted\"\nand a second line";
    writer.append(compiled(kV7));
    writer.append(failed);
    VerifyEvent wrong = verified(kV7);
    wrong.outcome.passed = false;
    wrong.outcome.reason = "f32:1025x257, in place: row 3, got nan\xff";
    wrong.outcome.worst_error = std::numeric_limits<double>::infinity();
    writer.append(wrong);
    MeasureEvent event = measured(kV7, 1024, 4096, 10.1);
    event.final = true;
    writer.append(event);
    writer.append(QuarantineEvent{kV7, "measure", "the worker was killed by SIGSEGV"});
    writer.append(EndEvent{59.75, true});
  }

  std::string text() const { return read_file(path_); }
  void replace(std::string_view text) const { std::ofstream(path_, std::ios::binary) << text; }

  TemporaryDirectory folder_;
  std::filesystem::path path_ = folder_.path() / "t.jsonl";
};

TEST_F(JournalTest, ReadsBackWhatWasWritten) {
  const softmax_dispatch::testing::DecimalComma comma;
  write();
  const Journal journal = read_journal(path_);
  EXPECT_EQ(journal.damaged_lines, 0U);
  const RunEvent run = sample_run();
  ASSERT_TRUE(journal.run);
  EXPECT_EQ(journal.run->device.name, run.device.name);
  EXPECT_EQ(journal.run->device.l2_bytes, run.device.l2_bytes);
  EXPECT_EQ(journal.run->toolchain.flags, run.toolchain.flags);
  EXPECT_EQ(journal.run->sweep.M, run.sweep.M);
  EXPECT_EQ(journal.run->sweep.seed, 42);
  ASSERT_EQ(journal.compiles.size(), 2U);
  EXPECT_EQ(journal.compiles[0].config, kV7);
  EXPECT_EQ(journal.compiles[0].code_hash, compiled(kV7).code_hash);
  EXPECT_EQ(journal.compiles[0].resources, compiled(kV7).resources);
  EXPECT_EQ(journal.compiles[0].error, std::nullopt);
  EXPECT_EQ(journal.compiles[1].error, "v3.cu(3): error: \"quoted\"\nand a second line");
  ASSERT_EQ(journal.verifications.size(), 1U);
  EXPECT_FALSE(journal.verifications[0].outcome.passed);
  EXPECT_THAT(journal.verifications[0].outcome.reason, HasSubstr("row 3, got nan"));
  EXPECT_TRUE(std::isinf(journal.verifications[0].outcome.worst_error));
  ASSERT_EQ(journal.measurements.size(), 1U);
  EXPECT_EQ(journal.measurements[0].problem, (Problem{DType::f32, 1024, 4096}));
  EXPECT_EQ(journal.measurements[0].timing.median_us, 10.1);
  EXPECT_EQ(journal.measurements[0].timing.samples, 7);
  EXPECT_TRUE(journal.measurements[0].final);
  ASSERT_EQ(journal.quarantines.size(), 1U);
  EXPECT_EQ(journal.quarantines[0].stage, "measure");
  ASSERT_TRUE(journal.end);
  EXPECT_EQ(journal.end->duration_s, 59.75);
  EXPECT_TRUE(journal.end->partial);
}

TEST_F(JournalTest, EachEventIsOnDiskWhenAppendReturns) {
  JournalWriter writer(path_);
  writer.append(sample_run());
  for (std::size_t count = 1; count <= 3; ++count) {
    writer.append(measured(kV7, 1, 8, 1.5));
    EXPECT_EQ(read_journal(path_).measurements.size(), count);
  }
}

TEST_F(JournalTest, ACutAtAnyByteOfTheLastLineCostsThatLineAlone) {
  write();
  const std::string whole = text();
  const std::size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t length = last; length < whole.size() - 1; ++length) {
    replace(whole.substr(0, length));
    const Journal journal = read_journal(path_);
    EXPECT_EQ(journal.damaged_lines, length == last ? 0U : 1U) << length;
    EXPECT_FALSE(journal.end) << length;
    EXPECT_EQ(journal.quarantines.size(), 1U) << length;
  }
}

TEST_F(JournalTest, AnyOtherByteCostsItsLineAlone) {
  write();
  const std::string whole = text();
  const std::size_t second = whole.find('\n') + 1, third = whole.find('\n', second) + 1;
  for (std::size_t i = second; i < third - 1; ++i) {
    std::string damaged = whole;
    damaged[i] = damaged[i] == '7' ? '8' : '7';
    replace(damaged);
    const Journal journal = read_journal(path_);
    EXPECT_EQ(journal.damaged_lines, 1U) << i;
    EXPECT_EQ(journal.compiles.size(), 1U) << i;
    EXPECT_TRUE(journal.end) << i;
  }
}

TEST_F(JournalTest, WithoutItsFirstLineItIsNoJournal) {
  write();
  const std::string whole = text();
  for (const std::string& bad : {std::string(), std::string("tables:\n"), whole.substr(whole.find('\n') + 1),
                                 "x" + whole, whole.substr(0, whole.find('\n') + 1) + whole}) {
    replace(bad);
    EXPECT_THAT(error_of(StatusCode::bad_table, [&] { read_journal(path_); }), HasSubstr("tune again")) << bad;
  }
  EXPECT_THAT(error_of(StatusCode::io, [&] { read_journal(folder_.path() / "none.jsonl"); }), HasSubstr("none.jsonl"));
}

TEST_F(JournalTest, AFolderThatCannotBeWrittenIsNamed) {
  EXPECT_THAT(error_of(StatusCode::io, [&] { JournalWriter(folder_.path() / "no" / "such" / "t.jsonl"); }),
              HasSubstr("no/such/t.jsonl"));
}

TEST_F(JournalTest, StartsTheFileAnew) {
  write();
  JournalWriter(path_).append(sample_run());
  EXPECT_TRUE(read_journal(path_).measurements.empty());
}

}  // namespace
}  // namespace softmax_dispatch::tuning::testing
