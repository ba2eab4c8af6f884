// The commands that need a GPU, on the GPU of this machine: one small tune, and what can be asked of its table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include "tests/cli/program.hpp"

namespace softmax_dispatch::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Finished run_on_gpu(const std::vector<std::string>& arguments) {
  return Program(arguments, {}).wait();
}

class OnGpu : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_.emplace();
    arch_ = run_on_gpu({"doctor", "--json"}).json().at("devices").at(0).at("arch");
    tune_ = run_on_gpu(tune_arguments());
  }
  static void TearDownTestSuite() { folder_.reset(); }
  void SetUp() override { ASSERT_EQ(tune_.code, 0) << tune_.err; }

  static std::filesystem::path table() { return folder_->path() / "table.yaml"; }
  static std::vector<std::string> tune_arguments() {
    return {"--arch", arch_, "--out", table(), "--effort", "quick", "--M", "64:256", "--N", "256:1024"};
  }

  static std::optional<TemporaryDirectory> folder_;
  static std::string arch_;
  static Finished tune_;
};
std::optional<TemporaryDirectory> OnGpu::folder_;
std::string OnGpu::arch_;
Finished OnGpu::tune_;

TEST_F(OnGpu, TuneReportsThresholdsTableAndJournal) {
  EXPECT_THAT(tune_.out, AllOf(HasSubstr("| M "), HasSubstr("regret"), HasSubstr("table: " + table().string()),
                               HasSubstr("journal: " + table().string() + ".journal.jsonl")));
  EXPECT_THAT(tune_.out, Not(HasSubstr("partial")));
  EXPECT_THAT(tune_.err, AllOf(HasSubstr("compile "), HasSubstr("verify "), HasSubstr("measure ")));
}

TEST_F(OnGpu, EveryKernelOfTheTableIsVerified) {
  const auto kernels = run_on_gpu({"show", table(), "--json"}).json().at("kernels");
  ASSERT_FALSE(kernels.empty());
  for (const auto& kernel : kernels) EXPECT_TRUE(kernel.contains("verification")) << kernel.dump();

  const Finished verify = run_on_gpu({"verify", table(), "--json"});
  EXPECT_EQ(verify.code, 0) << verify.err;
  ASSERT_EQ(verify.json().size(), kernels.size());
  for (const auto& verdict : verify.json()) {
    EXPECT_EQ(verdict.at("passed"), true) << verdict.dump();
    EXPECT_EQ(verdict.at("same_code"), true) << verdict.dump();
    EXPECT_GT(verdict.at("cases"), 0) << verdict.dump();
  }
}

TEST_F(OnGpu, ExplainHasTheTimesOfTheSweep) {
  const auto json = run_on_gpu({"explain", table(), "f32:256x1024", "--json"}).json();
  ASSERT_TRUE(json.at("candidates").at(0).contains("time_us")) << json.dump();
  EXPECT_GT(json.at("candidates").at(0).at("time_us"), 0.0);
}

TEST_F(OnGpu, BenchTimesTheChoiceAgainstTheLimit) {
  const Finished result = run_on_gpu({"bench", table(), "--problem", "f32:256x1024", "f32:1024x257", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = result.json();
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[1].at("problem"), "f32:1024x257");
  for (const auto& row : json) {
    EXPECT_TRUE(row.at("chosen").contains("variant"));
    EXPECT_GT(row.at("time_us"), 0.0);
    EXPECT_GT(row.at("limit_us"), 0.0);
    EXPECT_GT(row.at("gb_per_s"), 0.0);
    EXPECT_TRUE(row.at("variants").empty());
  }
}

TEST_F(OnGpu, BenchOfAllVariantsHasTheChosenOneAmongThem) {
  const Finished result = run_on_gpu({"bench", "--problem", "f32:256x1024", "--all-variants", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const auto row = result.json().at(0);
  bool chosen = false;
  for (const auto& variant : row.at("variants")) {
    EXPECT_EQ(variant.contains("time_us") + variant.contains("skipped"), 1) << variant.dump();
    chosen |= variant.at("variant") == row.at("chosen").at("variant") &&
              variant.at("constants") == row.at("chosen").at("constants");
  }
  EXPECT_TRUE(chosen) << row.at("chosen").dump();

  const std::string text = run_on_gpu({"bench", table(), "--problem", "f32:256x1024", "--all-variants"}).out;
  EXPECT_THAT(text, AllOf(HasSubstr("chosen / best: geometric mean"), HasSubstr("time / limit, limit < 15 us")));
}

TEST_F(OnGpu, AGpuOfAnotherArchitectureIsNamed) {
  const std::string other = arch_ == "sm_75" ? "sm_90" : "sm_75";
  const Finished result = run_on_gpu({"--arch", other, "--out", folder_->path() / "other.yaml", "--device", "cuda:0"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, AllOf(HasSubstr("cuda:0 of architecture " + other), HasSubstr("(" + arch_ + ")")));
}

TEST_F(OnGpu, AnInterruptedTuneLeavesAValidPartialTable) {
  const std::filesystem::path out = folder_->path() / "partial.yaml", journal = out.string() + ".journal.jsonl";
  Program tune({"--arch", arch_, "--out", out, "--effort", "quick"}, {});
  for (int i = 0; i < 3000 && contents(journal).find("measure") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  tune.send(SIGINT);
  const Finished result = tune.wait();
  EXPECT_EQ(result.code, 4) << result.err;
  EXPECT_THAT(result.out, HasSubstr("partial"));
  EXPECT_THAT(result.err, HasSubstr("once more ends at once"));
  const Finished show = run_on_gpu({"show", out, "--json"});
  ASSERT_EQ(show.code, 0) << show.err;
  EXPECT_EQ(show.json().at("sweep").at("partial"), true);
}

TEST_F(OnGpu, PinsSurviveARetune) {
  const std::string before = contents(table());
  const std::string use = run_on_gpu({"show", table(), "--json"}).json().at("kernels").at(0).at("name");
  const std::size_t tables = before.find("\ntables:");
  ASSERT_NE(tables, std::string::npos);
  const std::string pin = "\npins:\n  - {dtype: f32, M: [7, 7], N: [5, 5], use: " + use + "}";
  write(table(), before.substr(0, tables) + pin + before.substr(tables));
  const Finished retune = run_on_gpu(tune_arguments());
  ASSERT_EQ(retune.code, 0) << retune.err;
  const auto pins = run_on_gpu({"show", table(), "--json"}).json().at("pins");
  ASSERT_EQ(pins.size(), 1U);
  EXPECT_EQ(pins.at(0).at("use"), use);
}

}  // namespace
}  // namespace softmax_dispatch::testing
