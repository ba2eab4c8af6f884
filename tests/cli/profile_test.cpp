#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/arch.hpp"
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

/// What holds of every softmax: each element is loaded and stored, an exponential is taken of it, and a time is not
/// below that of any of its causes.
void expect_one_scan_or_more(const nlohmann::json& json, const Problem& problem, const Geometry& geometry) {
  const auto& counts = json.at("counts");
  const std::int64_t elements = problem.M * problem.N;
  const std::int64_t bytes = static_cast<std::int64_t>(size_of(problem.dtype)) * elements;
  EXPECT_EQ(counts.at("sampled_blocks"), counts.at("blocks")) << "small enough to run as a whole";
  EXPECT_EQ(counts.at("blocks"), geometry.phases * geometry.grid);
  EXPECT_GE(counts.at("bytes_load"), bytes);
  // Blocks of one row tell each other two words at most, and leave with one.
  EXPECT_GE(counts.at("bytes_store"), bytes);
  const std::int64_t told = geometry.workspace_bytes > 0 ? 32 * problem.M + 256 : 0;
  EXPECT_LE(counts.at("bytes_store"), bytes + told);
  EXPECT_GE(counts.at("sectors_store"), bytes / 32);
  EXPECT_GE(counts.at("special_function"), elements / 32);
  std::int64_t classes = 0;
  for (const char* name : {"global_load", "global_store", "shared_load", "shared_store", "special_function", "fp32",
                           "conversion", "shuffle", "barrier", "branch"})
    classes += counts.at(name).get<std::int64_t>();
  EXPECT_LT(classes, counts.at("warp_instructions"));
  EXPECT_GT(counts.at("branch_uniformity"), 0.0);
  EXPECT_LE(counts.at("branch_uniformity"), 1.0);
  const auto& model = json.at("model");
  EXPECT_TRUE(model.at("terms").contains(model.at("bound").get<std::string>())) << model.dump();
  for (const auto& [name, time_us] : model.at("terms").items()) EXPECT_LE(time_us, model.at("time_us")) << name;
}

TEST(Profile, EveryTypeThatAVariantComputes) {
  for (const DType dtype : unbounded_variant().dtypes()) {
    const Problem problem{dtype, 33, 257};
    const auto json = profile(std::string(unbounded_variant().id()), to_string(problem));
    EXPECT_EQ(json.at("dtype"), to_string(dtype));
    Geometry geometry;
    geometry.grid = json.at("grid").get<std::int64_t>();
    expect_one_scan_or_more(json, problem, geometry);
  }
  const Finished other = run({"profile", "--arch", "sm_75", "--variant", "v7", "--problem", "f16:33x257"});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr("v7 computes f32, not f16"));
}

TEST(Profile, EveryVariantOnATuringCard) {
  const Problem problem{DType::f32, 1025, 257};
  for (const Variant* variant : registry().all()) {
    if (!variant->exists(arch_limits("sm_75"))) continue;
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
    EXPECT_EQ(json.at("device"), "Tesla T4") << id;
    EXPECT_EQ(json.at("simulated"), true) << id;
    expect_one_scan_or_more(json, problem, geometry);
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
              AllOf(HasSubstr("| constants "), HasSubstr("THREADS=256 VEC_ITEMS=1"), HasSubstr("| registers "),
                    HasSubstr("| counts.global_load "), HasSubstr("| model.bound "),
                    HasSubstr("of the simulated Tesla T4: the counts are exact")));
}

// The published instruction counts of v7 and v2 (docs/model.md): 16-byte accesses of one scan, 4-byte ones of three.
TEST(Profile, CountsOfALaunch) {
  const auto vectors = profile("v7", "f32:128x16384", {"THREADS=1024"}).at("counts");
  EXPECT_EQ(vectors.at("global_load"), 128 * 16384 / 4 / 32);
  EXPECT_EQ(vectors.at("global_store"), 128 * 16384 / 4 / 32);
  const auto scalars = profile("v2", "f32:128x16384", {"THREADS=1024"}).at("counts");
  EXPECT_EQ(scalars.at("global_load"), 3 * 128 * 16384 / 32);
  EXPECT_EQ(scalars.at("global_store"), 128 * 16384 / 32);
}

TEST(Profile, ALargeLaunchIsSampledAndScaled) {
  const auto json = profile("v7", "f32:65536x4096", {"THREADS=256"});
  const auto& counts = json.at("counts");
  EXPECT_EQ(counts.at("blocks"), 65536);
  EXPECT_LT(counts.at("sampled_blocks"), 1000);
  EXPECT_EQ(counts.at("global_load"), 65536 * 4096 / 4 / 32) << "every block does the same";
  const double least_us = 2.0 * 65536 * 4096 * 4 / 320e3;
  EXPECT_GT(json.at("model").at("time_us"), least_us);
}

TEST(Profile, OnlyWhatIsCompiledWhereNothingIsSimulated) {
  const Finished result = run({"profile", "--arch", "sm_86", "--variant", "v7", "--problem", "f32:1025x257", "--json"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_FALSE(result.json().contains("counts"));
  EXPECT_FALSE(result.json().contains("simulated"));
}

TEST(Profile, AProblemThatTheSimulatedGpuCannotHold) {
  const Finished result =
      run({"profile", "--arch", "sm_75", "--variant", "v5", "--problem", "f32:65536x1048576", "--device", "sim"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("f32:65536x1048576"), HasSubstr("15.8 GB")));
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
