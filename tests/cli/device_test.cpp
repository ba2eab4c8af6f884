#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/files.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/sample.hpp"

namespace softmax_dispatch::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The program sees no GPU: run() hides those that there are.
class NoDevice : public ::testing::Test {
 protected:
  void expect_no_device(const std::vector<std::string>& arguments, const std::string& said) {
    const Finished result = run(arguments);
    EXPECT_EQ(result.code, 3) << result.err;
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err, AllOf(HasSubstr("softmax-tune: error: "), HasSubstr(said)));
  }

  TemporaryDirectory folder_;
  std::filesystem::path table_ = write_sample_table(folder_.path());
};

TEST_F(NoDevice, TuneNamesTheArchitectureAndLeavesNothing) {
  const std::filesystem::path out = folder_.path() / "new.yaml";
  expect_no_device({"--arch", "sm_75", "--out", out}, "a GPU of architecture sm_75 is needed");
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_FALSE(std::filesystem::exists(out.string() + ".journal.jsonl"));
}

TEST_F(NoDevice, TuneLeavesTheTableThatIsThere) {
  const std::string before = contents(table_);
  expect_no_device({"tune", "--arch", "sm_90", "--out", table_}, "a GPU of architecture sm_90 is needed");
  EXPECT_EQ(contents(table_), before);
}

TEST_F(NoDevice, TheGpuAskedForByNumber) {
  expect_no_device({"--arch", "sm_90", "--out", table_, "--device", "cuda:5"},
                   "cuda:5 of architecture sm_90 is needed");
}

TEST_F(NoDevice, TheSimulatedDevice) {
  expect_no_device({"--arch", "sm_90", "--out", table_, "--device", "sim"}, "not yet part of this version");
  expect_no_device({"profile", "--arch", "sm_75", "--variant", "v7", "--problem", "f32:8x8", "--device", "sim"},
                   "not yet part of this version");
}

TEST_F(NoDevice, BenchAndVerify) {
  expect_no_device({"bench", table_, "--problem", "core"}, "a GPU of architecture sm_90 is needed");
  expect_no_device({"bench", "--problem", "f32:8x8", "f32:16x16"}, "a GPU is needed");
  expect_no_device({"verify", table_}, "a GPU of architecture sm_90 is needed");
}

TEST_F(NoDevice, DoctorSaysWhatToDo) {
  const Finished result = run({"doctor"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.out, AllOf(HasSubstr("not ready to tune"), HasSubstr("profile")));
  EXPECT_THAT(result.err, IsEmpty());
}

TEST_F(NoDevice, DoctorAsJson) {
  const Finished result = run({"doctor", "--json"}, {{"SOFTMAX_DISPATCH_CACHE", folder_.path() / "cache"}});
  EXPECT_EQ(result.code, 3);
  const auto json = result.json();
  EXPECT_TRUE(json.at("devices").is_array() && json.at("devices").empty());
  EXPECT_TRUE(json.at("driver").at("found").is_boolean());
  EXPECT_TRUE(json.at("nvrtc").at("found").is_boolean());
  EXPECT_EQ(json.at("cache").at("directory"), (folder_.path() / "cache").string());
  EXPECT_EQ(json.at("cache").at("entries"), 0);
  EXPECT_EQ(json.at("table"), nlohmann::json({{"source", "rule"}}));
  EXPECT_FALSE(json.at("advice").empty());
  EXPECT_EQ(json.at("ready"), false);
}

TEST_F(NoDevice, DoctorLooksAtTheTableOfTheEnvironment) {
  const auto good = run({"doctor", "--json"}, {{"SOFTMAX_DISPATCH_TABLE", table_}}).json();
  EXPECT_EQ(good.at("table"), nlohmann::json({{"source", "environment"}, {"path", table_.string()}, {"valid", true}}));
  write(table_, "schema: 99\n...\n");
  const auto bad = run({"doctor", "--json"}, {{"SOFTMAX_DISPATCH_TABLE", table_}}).json();
  EXPECT_EQ(bad.at("table").at("valid"), false);
  EXPECT_THAT(bad.at("advice").dump(), HasSubstr("newer"));
}

TEST_F(NoDevice, DoctorNamesAnNvrtcThatIsMissing) {
  const auto json = run({"doctor", "--json"}, {{"SOFTMAX_DISPATCH_NVRTC", "/no/such/libnvrtc.so"}}).json();
  EXPECT_EQ(json.at("nvrtc").at("found"), false);
  EXPECT_THAT(json.at("advice").dump(), HasSubstr("/no/such/libnvrtc.so"));
}

}  // namespace
}  // namespace softmax_dispatch::testing
