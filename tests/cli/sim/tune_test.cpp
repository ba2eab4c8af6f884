// The commands on the simulated T4: one small tune, and what can be asked of its table. No GPU is visible.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include "tests/cli/program.hpp"
#include "tuning/journal.hpp"

namespace softmax_dispatch::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class OnSimulatedT4 : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_.emplace();
    tune_ = run({"--arch", "sm_75", "--out", table(), "--effort", "quick", "--M", "32:256", "--N", "200:256"});
  }
  static void TearDownTestSuite() { folder_.reset(); }
  void SetUp() override { ASSERT_EQ(tune_.code, 0) << tune_.err; }

  static std::filesystem::path table() { return folder_->path() / "t4.yaml"; }

  static std::optional<TemporaryDirectory> folder_;
  static Finished tune_;
};
std::optional<TemporaryDirectory> OnSimulatedT4::folder_;
Finished OnSimulatedT4::tune_;

TEST_F(OnSimulatedT4, TuneSaysOnceThatNothingIsMeasured) {
  const std::string said =
      "softmax-tune: no GPU of sm_75 here: tuning for the simulated Tesla T4 (times are a model's)\n";
  EXPECT_THAT(tune_.err, StartsWith(said));
  EXPECT_THAT(tune_.err.substr(said.size()), Not(HasSubstr("no GPU")));
  EXPECT_THAT(tune_.out, AllOf(StartsWith("### f32 softmax on the simulated Tesla T4 (sm_75)\n\nNothing was measured"),
                               HasSubstr("simulated, not measured"), HasSubstr("modelled regret"),
                               HasSubstr("table: " + table().string())));
}

TEST_F(OnSimulatedT4, ShowHasItInTheTitleAndTheOrigin) {
  const std::string text = run({"show", table()}).out;
  EXPECT_THAT(text, AllOf(StartsWith("### f32 softmax on the simulated Tesla T4 (sm_75)"),
                          HasSubstr("Tesla T4 (simulated)"), HasSubstr("\nsimulated, not measured: ")));
  const auto json = run({"show", table(), "--json"}).json();
  EXPECT_EQ(json.at("device").at("kind"), "simulated");
  EXPECT_EQ(json.at("sweep").at("protocol"), "model");
  ASSERT_FALSE(json.at("kernels").empty());
  for (const auto& kernel : json.at("kernels")) EXPECT_EQ(kernel.at("verification").at("kind"), "simulated");
}

TEST_F(OnSimulatedT4, TheJournalHasOneTimeForEachConfigurationAndShape) {
  const tuning::Journal journal = tuning::read_journal(table().string() + ".journal.jsonl");
  EXPECT_TRUE(journal.run->device.simulated);
  EXPECT_GT(journal.measurements.size(), 100U);
  for (const tuning::MeasureEvent& event : journal.measurements) EXPECT_EQ(event.timing.samples, 1);
}

TEST_F(OnSimulatedT4, VerifyCompilesTheSameCodeAndPasses) {
  const Finished result = run({"verify", table(), "--device", "sim", "--json"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, Not(HasSubstr("no GPU"))) << "it was asked for";
  for (const auto& verdict : result.json()) {
    EXPECT_EQ(verdict.at("passed"), true) << verdict.dump();
    EXPECT_EQ(verdict.at("same_code"), true) << verdict.dump();
    EXPECT_EQ(verdict.at("simulated"), true) << verdict.dump();
  }
}

TEST_F(OnSimulatedT4, ExplainHasTheModelsTimes) {
  const auto json = run({"explain", table(), "f32:64x256", "--json"}).json();
  EXPECT_EQ(json.at("simulated"), true);
  ASSERT_TRUE(json.at("candidates").at(0).contains("time_us")) << json.dump();
  EXPECT_THAT(run({"explain", table(), "f32:64x256"}).out, HasSubstr("simulated us"));
}

TEST_F(OnSimulatedT4, BenchIsOfTheModel) {
  const Finished result = run({"bench", table(), "--problem", "f32:256x256", "f32:1024x257", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("no GPU of sm_75 here: timing on the simulated Tesla T4"));
  for (const auto& row : result.json()) {
    EXPECT_EQ(row.at("simulated"), true);
    EXPECT_GE(row.at("time_us"), row.at("limit_us"));
  }
  EXPECT_THAT(run({"bench", table(), "--problem", "f32:256x256", "--device", "sim"}).out,
              HasSubstr("times of a model, not measured: on the simulated Tesla T4 (sm_75)"));
}

TEST_F(OnSimulatedT4, BenchHasTheTimeOfAKernelThatReducesOnce) {
  // The rule that chooses where there is no table of the type takes kernels of which there is such a twin.
  const std::vector<std::string> asked{"bench",        "--problem",    "f16:1x1",  "f16:512x1023",
                                       "f16:2048x300", "f32:1024x257", "--device", "sim"};
  std::vector<std::string> arguments = asked;
  arguments.insert(arguments.end(), {"--reduce-once", "--json"});
  const Finished result = run(arguments);
  ASSERT_EQ(result.code, 0) << result.err;
  const auto rows = result.json();
  const double launch_us = rows.at(0).at("limit_us");
  int timed = 0;
  for (const auto& row : rows) {
    ASSERT_NE(row.contains("reduce_once_us"), row.contains("no_reduce_once")) << row.dump();
    if (!row.contains("reduce_once_us")) continue;
    EXPECT_GE(row.at("reduce_once_us"), launch_us) << row.dump();
    EXPECT_LE(row.at("reduce_once_us"), row.at("time_us")) << row.dump();
    ++timed;
  }
  EXPECT_GE(timed, 2);
  arguments.pop_back();
  EXPECT_THAT(run(arguments).out,
              AllOf(HasSubstr("| reduce us | time / reduce |"), HasSubstr("\ntime / reduce, limit")));
  EXPECT_THAT(run(asked).out, Not(HasSubstr("reduce")));
}

TEST_F(OnSimulatedT4, BenchOfEveryLengthInRanges) {
  const Finished result = run({"bench", table(), "--problem", "f32:256x256", "--N", "211:212", "250:251", "--bytes",
                               "64K", "--device", "sim", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  std::vector<std::string> problems;
  for (const auto& row : result.json()) problems.push_back(row.at("problem"));
  EXPECT_THAT(problems, ::testing::ElementsAre("f32:256x256", "f32:77x211", "f32:77x212", "f32:65x250", "f32:65x251"))
      << "as many rows as 16384 elements make";
}

TEST_F(OnSimulatedT4, AnInterruptedTuneLeavesAValidPartialTable) {
  const std::filesystem::path out = folder_->path() / "partial.yaml", journal = out.string() + ".journal.jsonl";
  Program tune({"--arch", "sm_75", "--out", out, "--effort", "quick", "--N", "200:256", "--device", "sim"},
               {{"CUDA_VISIBLE_DEVICES", "-1"}});
  for (int i = 0; i < 600 && contents(journal).find("\"measure\"") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  tune.send(SIGINT);
  const Finished result = tune.wait();
  EXPECT_EQ(result.code, 4) << result.err;
  const auto json = run({"show", out, "--json"}).json();
  EXPECT_EQ(json.at("sweep").at("partial"), true);
}

TEST_F(OnSimulatedT4, AnotherGpuIsAnError) {
  const Finished result = run({"--arch", "sm_75", "--out", table(), "--device", "cuda:0"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, AllOf(HasSubstr("cuda:0 of architecture sm_75 is needed"), HasSubstr("--device sim")));
}

}  // namespace
}  // namespace softmax_dispatch::testing
