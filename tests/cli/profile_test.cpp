#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

nlohmann::json profile(const std::string& variant, const std::string& problem,
                       const std::vector<std::string>& set = {}) {
  std::vector<std::string> arguments{"profile", "--arch",    "sm_75", "--variant",
                                     variant,   "--problem", problem, "--json"};
  for (const std::string& constant : set) arguments.insert(arguments.end(), {"--set", constant});
  const Finished result = run(arguments);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  return result.json();
}

TEST(Profile, EveryVariantOnATuringCard) {
  const Problem problem{DType::f32, 1025, 257};
  for (const Variant* variant : registry().all()) {
    const std::string id(variant->id());
    const auto json = profile(id, to_string(problem), {"THREADS=256"});
    Constants constants;
    for (const auto& [name, value] : json.at("constants").items()) constants[name] = value;
    const Geometry geometry = variant->geometry(problem, constants);
    EXPECT_EQ(json.at("variant"), id);
    EXPECT_EQ(json.at("arch"), "sm_75");
    EXPECT_EQ(constants.at("THREADS"), 256) << id;
    EXPECT_EQ(constants.size(), variant->axes().size()) << id;
    EXPECT_EQ(json.at("grid"), geometry.grid) << id;
    EXPECT_EQ(json.at("block"), geometry.block) << id;
    EXPECT_GT(json.at("registers"), 0) << id;
    EXPECT_EQ(json.at("stack_bytes"), 0) << id;
    EXPECT_EQ(json.at("spill_store_bytes"), 0) << id;
    EXPECT_EQ(json.at("spill_load_bytes"), 0) << id;
    EXPECT_GE(json.at("shared_bytes"), 0) << id;
    EXPECT_GT(json.at("theoretical_occupancy"), 0.0) << id;
    EXPECT_LE(json.at("theoretical_occupancy"), 1.0) << id;
  }
}

TEST(Profile, ConstantsThatAreNotSetFollowFromTheProblem) {
  EXPECT_EQ(profile("v3", "f32:1024x4096", {"THREADS=256"}).at("constants").at("ITEMS"), 16);
  EXPECT_EQ(profile("v7", "f32:1024x4096", {"THREADS=256"}).at("constants").at("VEC_ITEMS"), 4);
  EXPECT_EQ(profile("v8", "f32:1025x257", {"THREADS=256"}).at("grid"), 129);
  EXPECT_EQ(profile("v9", "f32:1025x257", {"THREADS=256"}).at("grid"), 1025);
  EXPECT_EQ(profile("v9", "f32:1025x257", {"THREADS=256", "GRID=256"}).at("grid"), 256);
}

TEST(Profile, IsATableForPeople) {
  const Finished result = run({"profile", "--arch", "sm_75", "--variant", "v7", "--problem", "f32:1025x257"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("| constants "), HasSubstr("THREADS=256 VEC_ITEMS=1"), HasSubstr("| registers ")));
}

TEST(Profile, ProblemThatTheVariantCannotServe) {
  const Finished result = run({"profile", "--arch", "sm_75", "--variant", "v3", "--problem", "f32:8x1000000"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, AllOf(HasSubstr("v3"), HasSubstr("f32:8x1000000")));
}

TEST(Profile, WithoutNvrtc) {
  const Finished result = run({"profile", "--arch", "sm_75", "--variant", "v7", "--problem", "f32:8x8"},
                              {{"SOFTMAX_DISPATCH_NVRTC", "/no/such/libnvrtc.so"}});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("/no/such/libnvrtc.so"));
}

}  // namespace
}  // namespace softmax_dispatch::testing
