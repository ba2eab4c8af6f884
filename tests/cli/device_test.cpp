#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

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

/// An architecture that a GPU may have, but none that is simulated.
constexpr char kNotSimulated[] = "sm_86";

TEST_F(NoDevice, TuneNamesTheArchitectureAndLeavesNothing) {
  const std::filesystem::path out = folder_.path() / "new.yaml";
  expect_no_device({"--arch", kNotSimulated, "--out", out}, "a GPU of architecture sm_86 is needed");
  expect_no_device({"--arch", kNotSimulated, "--out", out}, "simulated are those of sm_75, sm_90");
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_FALSE(std::filesystem::exists(out.string() + ".journal.jsonl"));
}

TEST_F(NoDevice, TuneLeavesTheTableThatIsThere) {
  const auto path = write_sample_table(folder_.path(), kNotSimulated);
  const std::string before = contents(path);
  expect_no_device({"tune", "--arch", kNotSimulated, "--out", path}, "a GPU of architecture sm_86 is needed");
  EXPECT_EQ(contents(path), before);
}

TEST_F(NoDevice, TheGpuAskedForByNumber) {
  expect_no_device({"--arch", "sm_90", "--out", table_, "--device", "cuda:5"},
                   "cuda:5 of architecture sm_90 is needed");
}

TEST_F(NoDevice, TheSimulatedDevice) {
  const std::string said =
      "--device sim: no GPU of architecture sm_86 is simulated; simulated are those of sm_75, sm_90";
  expect_no_device({"--arch", kNotSimulated, "--out", folder_.path() / "new.yaml", "--device", "sim"}, said);
  expect_no_device({"profile", "--arch", kNotSimulated, "--variant", "v7", "--problem", "f32:8x8", "--device", "sim"},
                   said);
}

TEST_F(NoDevice, BenchAndVerify) {
  const auto path = write_sample_table(folder_.path(), kNotSimulated);
  expect_no_device({"bench", path, "--problem", "core"}, "a GPU of architecture sm_86 is needed");
  expect_no_device({"bench", "--problem", "f32:8x8", "f32:16x16"}, "a GPU is needed");
  expect_no_device({"verify", path}, "a GPU of architecture sm_86 is needed");
  expect_no_device({"verify", path, "--device", "cuda:0"}, "cuda:0 of architecture sm_86 is needed");
}

TEST_F(NoDevice, DoctorSaysWhatToDo) {
  const Finished result = run({"doctor"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.out, AllOf(HasSubstr("no GPU to tune: ready to tune for the simulated Tesla T4 (sm_75)"),
                                HasSubstr("NVIDIA driver")));
  EXPECT_THAT(result.err, IsEmpty());
}

TEST_F(NoDevice, DoctorAsJson) {
  const Finished result = run({"doctor", "--json"}, {{"SOFTMAX_DISPATCH_CACHE", folder_.path() / "cache"}});
  EXPECT_EQ(result.code, 3);
  const auto json = result.json();
  EXPECT_TRUE(json.at("devices").is_array() && json.at("devices").empty());
  ASSERT_EQ(json.at("simulated").size(), 2U);
  EXPECT_EQ(json.at("simulated").at(0).at("name"), "Tesla T4");
  EXPECT_EQ(json.at("simulated").at(0).at("arch"), "sm_75");
  EXPECT_EQ(json.at("simulated").at(0).at("sm_count"), 40);
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

/// Two GPUs of sm_75 on which no kernel can be loaded: the stand-in for the driver that the device layer is tested
/// with.
class TwoTuringCards : public ::testing::Test {
 protected:
  static Finished run_there(const std::vector<std::string>& arguments) {
    const char* path = std::getenv("LD_LIBRARY_PATH");
    const std::string folder = SOFTMAX_DISPATCH_BINARY_DIR "/tests/fake_driver";
    return run(arguments, {{"LD_LIBRARY_PATH", path ? folder + ":" + path : folder}});
  }

  TemporaryDirectory folder_;
};

TEST_F(TwoTuringCards, DoctorIsSatisfied) {
  const Finished result = run_there({"doctor", "--json"});
  EXPECT_EQ(result.code, 0) << result.err;
  const auto json = result.json();
  ASSERT_EQ(json.at("devices").size(), 2U);
  EXPECT_EQ(json.at("devices").at(0).at("arch"), "sm_75");
  EXPECT_EQ(json.at("devices").at(1).at("ordinal"), 1);
  EXPECT_EQ(json.at("devices").at(0).at("sm_count"), 40);
  EXPECT_EQ(json.at("driver").at("cuda_version"), "13.0");
  EXPECT_EQ(json.at("ready"), true);
}

TEST_F(TwoTuringCards, AnotherArchitectureOrNumberIsRefusedWithWhatThereIs) {
  const std::filesystem::path out = folder_.path() / "new.yaml";
  const std::vector<std::vector<std::string>> refused{{"--arch", kNotSimulated, "--out", out},
                                                      {"--arch", "sm_90", "--out", out, "--device", "cuda:1"},
                                                      {"--arch", "sm_75", "--out", out, "--device", "cuda:2"}};
  for (const auto& arguments : refused) {
    const Finished result = run_there(arguments);
    EXPECT_EQ(result.code, 3);
    EXPECT_THAT(result.err, AllOf(HasSubstr("the GPUs here are cuda:0 "), HasSubstr("(sm_75), cuda:1 ")));
  }
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(TwoTuringCards, VerifyReportsEachKernelThatCannotRun) {
  const auto path = write_sample_table(folder_.path(), "sm_75");
  const Finished result = run_there({"verify", path, "--device", "cuda:1", "--json"});
  EXPECT_EQ(result.code, 1) << result.err;
  ASSERT_EQ(result.json().size(), sample_table("sm_75").kernels.size());
  for (const auto& verdict : result.json()) {
    EXPECT_EQ(verdict.at("passed"), false);
    EXPECT_EQ(verdict.at("same_code"), false) << "the sample's hashes are of no code";
    EXPECT_THAT(verdict.at("reason").get<std::string>(), HasSubstr("CUDA_ERROR"));
  }
  EXPECT_THAT(result.err, HasSubstr("verify 0 of 3"));
}

TEST_F(TwoTuringCards, BenchNamesTheChoiceThatCannotRun) {
  const auto path = write_sample_table(folder_.path(), "sm_75");
  const Finished result = run_there({"bench", path, "--problem", "f32:1024x4096"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, AllOf(HasSubstr("v7 THREADS=256 VEC_ITEMS=4"), HasSubstr("CUDA_ERROR")));
}

TEST_F(TwoTuringCards, ATuneInWhichNothingRunsLeavesTheTableThatIsThere) {
  const auto path = write_sample_table(folder_.path(), "sm_75");
  const std::string before = contents(path);
  const Finished result =
      run_there({"--arch", "sm_75", "--out", path, "--effort", "quick", "--M", "8:8", "--N", "8:8"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, HasSubstr("softmax-tune: error: "));
  EXPECT_EQ(contents(path), before);
}

}  // namespace
}  // namespace softmax_dispatch::testing
