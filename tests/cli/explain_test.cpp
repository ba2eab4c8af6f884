#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/files.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/sample.hpp"
#include "tuning/journal.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Explain : public ::testing::Test {
 protected:
  nlohmann::json explain(const std::string& problem) {
    const Finished result = run({"explain", path_, problem, "--json"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, IsEmpty());
    return result.json();
  }

  /// The candidate of the variant; fails where there is none.
  static nlohmann::json candidate(const nlohmann::json& json, std::string_view variant) {
    for (const auto& one : json.at("candidates")) {
      if (one.at("variant") == variant) return one;
    }
    ADD_FAILURE() << "no candidate " << variant;
    return {};
  }

  /// A journal as the tune of the sample table would have left it.
  void write_journal(const std::string& device_name) {
    const table::Table table = sample_table();
    tuning::RunEvent run_event{table.device, table.toolchain, table.sweep, table.library_version};
    run_event.device.name = device_name;
    tuning::JournalWriter journal(path_.string() + ".journal.jsonl");
    journal.append(run_event);
    const Problem problem{DType::f32, 1024, 4096};
    const Config v3{"v3", {{"ITEMS", 16}, {"THREADS", 256}}}, slower{"v3", {{"ITEMS", 8}, {"THREADS", 512}}};
    journal.append(tuning::MeasureEvent{table.kernels[1].config, problem, {9.5, 9.4, 9.6, 3}, false});
    journal.append(tuning::MeasureEvent{table.kernels[1].config, problem, {9.25, 9.2, 9.3, 7}, true});
    journal.append(tuning::MeasureEvent{v3, problem, {9.75, 9.7, 9.8, 3}, false});
    journal.append(tuning::MeasureEvent{slower, problem, {10.5, 10.4, 10.6, 3}, false});
    journal.append(tuning::MeasureEvent{v3, {DType::f32, 1024, 2048}, {5.5, 5.4, 5.6, 3}, true});
  }

  TemporaryDirectory folder_;
  std::filesystem::path path_ = write_sample_table(folder_.path());
};

TEST_F(Explain, NamesTheChoiceItsReasonAndEveryCandidate) {
  const auto json = explain("f32:1024x4096");
  EXPECT_EQ(json.at("problem"), "f32:1024x4096");
  EXPECT_EQ(json.at("chosen"),
            nlohmann::json({{"variant", "v7"}, {"dtype", "f32"}, {"constants", {{"THREADS", 256}, {"VEC_ITEMS", 4}}}}));
  EXPECT_THAT(json.at("reason").get<std::string>(),
              AllOf(HasSubstr("any M, 513 <= N <= 4096, aligned rows"), HasSubstr("2048 and 8192"),
                    HasSubstr("3.1 % slower"), HasSubstr("v3 ITEMS=16 THREADS=256")));
  std::set<std::string> variants;
  for (const auto& one : json.at("candidates")) {
    variants.insert(one.at("variant"));
    EXPECT_TRUE(one.at("constants").is_object());
    EXPECT_EQ(one.contains("time_us") + one.contains("skipped"), 1) << one.dump();
  }
  EXPECT_EQ(variants.size(), registry().all().size());
}

TEST_F(Explain, GivesTheReasonOfEachCandidateThatIsSkipped) {
  const auto json = explain("f32:1024x4096");
  EXPECT_EQ(candidate(json, "v7").at("skipped"), "not measured at this shape");
  EXPECT_EQ(candidate(json, "v3").at("skipped"), "not in the table");
  EXPECT_EQ(candidate(json, "v4_branchy").at("skipped"), "a control, never chosen");
  const auto beyond = explain("f32:1024x1000000");
  EXPECT_THAT(candidate(beyond, "v7").at("skipped").get<std::string>(), HasSubstr("capacity"));
  EXPECT_THAT(candidate(beyond, "v3").at("skipped").get<std::string>(), HasSubstr("v3 cannot serve f32:1024x1000000"));
  EXPECT_THAT(candidate(beyond, "v1").at("skipped").get<std::string>(), HasSubstr("accuracy rule"));
}

TEST_F(Explain, DistinguishesRowsThatAreNotAligned) {
  EXPECT_EQ(explain("f32:1024x4095").at("chosen").at("variant"), unbounded_variant().id());
  EXPECT_THAT(explain("f32:1024x4095").at("reason").get<std::string>(), HasSubstr("unaligned"));
  EXPECT_EQ(explain("f32:1x257").at("chosen").at("variant"), "v8");
}

TEST_F(Explain, SaysWhereAPinDecides) {
  const auto json = explain("f32:7x100");
  EXPECT_EQ(json.at("chosen").at("variant"), "v7");
  EXPECT_EQ(json.at("reason"), "pinned for M = 7, N = 100");
}

TEST_F(Explain, TakesTimesFromTheJournalBesideTheTable) {
  write_journal("Sample GPU");
  const auto json = explain("f32:1024x4096");
  EXPECT_EQ(candidate(json, "v7").at("time_us"), 9.25) << "the finalist's time comes before the first look's";
  EXPECT_EQ(candidate(json, "v3").at("time_us"), 9.75);
  EXPECT_EQ(candidate(json, "v3").at("constants").at("ITEMS"), 16) << "the fastest configuration of the variant";
  EXPECT_EQ(json.at("candidates").at(0).at("variant"), "v7") << "the fastest comes first";
  EXPECT_EQ(candidate(explain("f32:512x4096"), "v7").at("skipped"), "not measured at this shape");
}

TEST_F(Explain, IgnoresTheJournalOfAnotherDevice) {
  write_journal("Other GPU");
  EXPECT_EQ(candidate(explain("f32:1024x4096"), "v7").at("skipped"), "not measured at this shape");
}

TEST_F(Explain, GoesOnWithoutAJournalThatCannotBeRead) {
  write(path_.string() + ".journal.jsonl", "Dear diary,\n");
  const Finished result = run({"explain", path_, "f32:1024x4096", "--json"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(candidate(result.json(), "v7").at("skipped"), "not measured at this shape");
  EXPECT_THAT(result.err, HasSubstr("journal"));
}

TEST_F(Explain, IsATableForPeople) {
  const Finished result = run({"explain", path_, "f32:1024x4096"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("f32:1024x4096: v7 THREADS=256 VEC_ITEMS=4\n"), HasSubstr("| candidate "),
                                HasSubstr("not in the table")));
}

TEST_F(Explain, TypeThatTheTableDoesNotHave) {
  const Finished result = run({"explain", path_, "f16:1024x4096"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("f16"), HasSubstr("tune for this type")));
}

}  // namespace
}  // namespace softmax_dispatch::testing
