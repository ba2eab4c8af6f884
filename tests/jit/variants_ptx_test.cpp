// What the kernels' contract says of the compiled code, held to NVRTC's PTX.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/compiler.hpp"
#include "jit/ptx.hpp"
#include "jit/test_nvrtc.hpp"
#include "support/configs.hpp"
#include "support/dtype.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch {
namespace {

class VariantsPtx : public testing::TestWithParam<const char*> {
 protected:
  std::vector<ptx::Instruction> code(const std::string& id, const Constants& constants) {
    return code_of_type(id, std::nullopt, constants);
  }
  std::vector<ptx::Instruction> code_of_type(const std::string& id, std::optional<DType> dtype,
                                             const Constants& constants) {
    const auto nvrtc = test_nvrtc(GetParam());
    if (!nvrtc) return {};
    return ptx::parse(
        jit::Compiler(nvrtc, jit::Sources::product(), nullptr).compile_ptx(id, {constants, dtype}, "sm_75"));
  }
};

#define SKIP_WITHOUT_NVRTC() \
  if (!test_nvrtc(GetParam())) GTEST_SKIP() << missing_nvrtc(GetParam())

TEST_P(VariantsPtx, SharedExponentialHasNoDataDependentBranch) {
  SKIP_WITHOUT_NVRTC();
  for (const std::int64_t threads : {64, 256, 1024}) {
    EXPECT_EQ(ptx::data_dependent_branches(code("v4_opt", {{"THREADS", threads}})), 0u) << threads;
    EXPECT_EQ(ptx::data_dependent_branches(code("v4", {{"THREADS", threads}})), 0u) << threads;
    EXPECT_EQ(ptx::data_dependent_branches(code("v5", {{"THREADS", threads}})), 0u) << threads;
    EXPECT_EQ(ptx::data_dependent_branches(code("v8", {{"THREADS", threads}})), 0u) << threads;
  }
}

TEST_P(VariantsPtx, BranchyControlHasDataDependentBranches) {
  SKIP_WITHOUT_NVRTC();
  EXPECT_GT(ptx::data_dependent_branches(code("v4_branchy", {{"THREADS", 256}})), 0u);
}

TEST_P(VariantsPtx, BranchyControlComputesAnExponentialOnEitherSide) {
  SKIP_WITHOUT_NVRTC();
  const auto branchy = ptx::find(code("v4_branchy", {{"THREADS", 256}}), "ex2").size();
  const auto shared = ptx::find(code("v4_opt", {{"THREADS", 256}}), "ex2").size();
  EXPECT_EQ(branchy, shared + 2) << "one more in the loop and one more in the guarded tail";
}

TEST_P(VariantsPtx, VectorVariantsAccess128Bits) {
  SKIP_WITHOUT_NVRTC();
  const Constants constants{{"THREADS", 256}, {"VEC_ITEMS", 4}};
  const std::size_t loads[][2] = {{4, 0}, {8, 4}, {8, 4}, {4, 4}, {8, 4}, {4, 4}};
  const char* ids[] = {"v6", "v6_double", "v6_fetch", "v7", "v9", "v10"};
  for (std::size_t i = 0; i < std::size(ids); ++i) {
    const auto kernel = code(ids[i], constants);
    EXPECT_EQ(ptx::find(kernel, "ld.global.v4").size(), loads[i][0]) << ids[i];
    EXPECT_EQ(ptx::find(kernel, "st.global.v4").size(), loads[i][1]) << ids[i];
  }
}

TEST_P(VariantsPtx, RepeatedScansReadMemoryAgain) {
  SKIP_WITHOUT_NVRTC();
  // A scalar scan of v2 is one load in the loop and one in the guarded tail; were x __restrict__, scans would be
  // folded.
  EXPECT_EQ(ptx::find(code("v2", {{"THREADS", 256}}), "ld.global.f32").size(), 6u);
  EXPECT_EQ(ptx::find(code("v1", {{"THREADS", 256}}), "ld.global.f32").size(), 6u);
  EXPECT_EQ(ptx::find(code("v5", {{"THREADS", 256}}), "ld.global.f32").size(), 4u);
  for (const char* id : {"v1", "v2", "v5"}) {
    EXPECT_TRUE(ptx::find(code(id, {{"THREADS", 256}}), "ld.global.nc").empty())
        << id << " reads x through the read-only cache";
  }
}

TEST_P(VariantsPtx, PrefetchIssuesTheNextLoadBeforeTheCurrentVectorIsUsed) {
  SKIP_WITHOUT_NVRTC();
  const Constants constants{{"THREADS", 256}, {"VEC_ITEMS", 4}};
  const auto early_loads = [&](const char* id) {
    const auto kernel = code(id, constants);
    const auto loads = ptx::find(kernel, "ld.global.v4");
    std::size_t early = 0;
    for (std::size_t i = 0; i + 1 < loads.size(); ++i) {
      if (i != 3 && loads[i + 1] < ptx::first_use(kernel, loads[i])) ++early;  // load 3 is the last of the first scan
    }
    return early;
  };
  EXPECT_EQ(early_loads("v6_fetch"), 6u) << "three in each of the two scans";
  EXPECT_EQ(early_loads("v6_double"), 0u) << "the control waits for each vector";
}

TEST_P(VariantsPtx, PrivateArraysStayInRegisters) {
  SKIP_WITHOUT_NVRTC();
  for (const auto& [id, constants] : {std::pair<const char*, Constants>{"v3", {{"THREADS", 256}, {"ITEMS", 16}}},
                                      {"v7", {{"THREADS", 256}, {"VEC_ITEMS", 4}}},
                                      {"v10", {{"THREADS", 256}, {"VEC_ITEMS", 4}}}}) {
    const auto kernel = code(id, constants);
    EXPECT_TRUE(ptx::find(kernel, "ld.local").empty()) << id;
    EXPECT_TRUE(ptx::find(kernel, "st.local").empty()) << id;
  }
}

TEST_P(VariantsPtx, VectorRowsAreReadAndWrittenOnceBy128BitsWithOneExponentialPerElement) {
  SKIP_WITHOUT_NVRTC();
  for (const DType dtype : kDTypes) {
    const std::size_t vector = 16 / size_of(dtype);
    for (const std::int64_t stream : {0, 1}) {
      // `plainly`: accesses that are not streamed whatever STREAM says.
      const auto check = [&](const char* id, const Constants& constants, std::size_t vectors, std::size_t plainly,
                             std::size_t exponentials) {
        const auto kernel = code_of_type(id, dtype, constants);
        const std::string name = std::string(id) + ' ' + to_string(dtype) + ' ' + to_string(constants);
        const std::size_t streamed = stream == 1 ? vectors : 0;
        for (const char* access : {"ld", "st"}) {
          const std::string global = std::string(access) + ".global.";
          EXPECT_EQ(ptx::find(kernel, (global + "cs.v4").c_str()).size(), streamed) << name;
          EXPECT_EQ(ptx::find(kernel, (global + "v4").c_str()).size(), vectors - streamed + plainly) << name;
        }
        EXPECT_EQ(ptx::find(kernel, "ex2.approx.ftz.f32").size(), exponentials) << name;
        EXPECT_TRUE(ptx::find(kernel, "ld.local").empty()) << name;
        EXPECT_TRUE(ptx::find(kernel, "ld.global.nc").empty()) << name << " cannot run in place";
      };
      const Constants common{{"STREAM", stream}, {"THREADS", 128}, {"VEC_ITEMS", 3}};
      Constants lanes = common;
      lanes.insert({{"LANES", 16}, {"ROWS", 1}});
      // There is code for aligned rows, and code for others.
      // Elements beside the vectors are one before and one after of each of 16 lanes.
      check("lanes", lanes, 3, 3, 2 * 3 * vector + 2);
      // Merging a thread's vectors, a warp's threads and a block's warps takes one for each of these; so does the
      // factor of a vector's results.
      Constants held = common;
      held.insert({{"BLOCKS", 4}, {"SHARED_ITEMS", 0}});
      // In the code for rows that are not aligned an element beside the vectors takes two; where it comes last, so does
      // its thread's state.
      check("held", held, 3, 3, 2 * (3 * (vector + 2) + 2) + 3);
      // Those in shared memory are taken together.
      held["SHARED_ITEMS"] = 4;
      check("held", held, 7, 7, 2 * (3 * (vector + 2) + 2 + 4 * vector + 3) + 2);
    }
  }
}

TEST_P(VariantsPtx, TilesMoveVectorsAndComputeOneExponentialPerElement) {
  SKIP_WITHOUT_NVRTC();
  for (const DType dtype : kDTypes) {
    const Constants constants{{"ITEMS", 10}, {"LANES", 8}, {"STREAM", 0}, {"THREADS", 128}, {"TILE_ROWS", 16}};
    const auto kernel = code_of_type("tile", dtype, constants);
    EXPECT_FALSE(ptx::find(kernel, "ld.global.v4").empty());
    EXPECT_FALSE(ptx::find(kernel, "st.global.v4").empty());
    EXPECT_EQ(ptx::find(kernel, "ex2.approx.ftz.f32").size(), 10u);
  }
}

// Once in the code for a row that has as many elements as a lane has places, once in that for a shorter one.
TEST_P(VariantsPtx, TilesOfOneLanePerRowComputeOneExponentialPerElementWithoutShuffles) {
  SKIP_WITHOUT_NVRTC();
  for (const DType dtype : kDTypes) {
    const Constants constants{{"ITEMS", 3}, {"LANES", 1}, {"STREAM", 1}, {"THREADS", 128}, {"TILE_ROWS", 1024}};
    const auto kernel = code_of_type("tile", dtype, constants);
    EXPECT_FALSE(ptx::find(kernel, "ld.global.cs.v4").empty() && ptx::find(kernel, "cp.async").empty());
    EXPECT_FALSE(ptx::find(kernel, "st.global.cs.v4").empty());
    EXPECT_EQ(ptx::find(kernel, "ex2.approx.ftz.f32").size(), 2 * 3u);
    EXPECT_TRUE(ptx::find(kernel, "shfl").empty());
  }
}

// The estimate of VectorKernel::supports() is on the safe side where registers are what bounds a row.
TEST_P(VariantsPtx, VectorRowsAtTheLimitOfRegistersStayThere) {
  SKIP_WITHOUT_NVRTC();
  const jit::Compiler compiler(test_nvrtc(GetParam()), jit::Sources::product(), nullptr);
  const Variant& lanes = registry().at("lanes");
  for (const char* arch : {"sm_75", "sm_90"}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const std::int64_t rows : {1, 2}) {
        Constants constants{{"LANES", 32}, {"ROWS", rows}};
        constants.insert({{"STREAM", 1}, {"THREADS", 512}, {"VEC_ITEMS", 40}});
        while (!lanes.supports(dtype, constants, {arch_limits(arch), 40})) --constants["VEC_ITEMS"];
        const auto kernel = compiler.compile("lanes", lanes.macros(dtype, constants), arch);
        EXPECT_FALSE(kernel.resources.uses_local_memory())
            << arch << ' ' << to_string(Config{"lanes", constants, dtype}) << ": " << kernel.resources.stack_bytes;
      }
    }
  }
}

/// Of those that hold as many vectors, the one whose blocks leave a thread the fewest registers; and of those with
/// vectors in shared memory the ones whose warps don't divide by an SM's four schedulers, which leave fewer than their
/// number of threads says.
std::vector<Constants> tightest(const std::vector<Constants>& configs) {
  std::map<std::pair<std::int64_t, std::int64_t>, Constants> found;
  std::vector<Constants> result;
  for (const Constants& one : configs) {
    const auto threads = [](const Constants& of) { return of.at("THREADS") * of.at("BLOCKS"); };
    const auto [at, is_new] = found.try_emplace({one.at("VEC_ITEMS"), one.at("SHARED_ITEMS")}, one);
    if (!is_new && threads(one) > threads(at->second)) at->second = one;
    if (one.at("SHARED_ITEMS") > 0 && threads(one) % 128 != 0) result.push_back(one);
  }
  for (const auto& [items, one] : found) result.push_back(one);
  return result;
}

// The same of PartKernel::supports(), for what a sweep takes: one that spills would be compiled for nothing.
TEST_P(VariantsPtx, HeldRowsOfASweepStayInRegisters) {
  SKIP_WITHOUT_NVRTC();
  const jit::Compiler compiler(test_nvrtc(GetParam()), jit::Sources::product(), nullptr);
  const Variant& held = registry().at("held");
  Ladders ladders{{"SHARED_ITEMS", {0, 6, 12}}};
  ladders["THREADS"] = {64, 96, 128, 192, 224, 256, 320, 384, 416, 512, 640, 800, 1024};
  ladders["VEC_ITEMS"] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (const Target& target : {Target{arch_limits("sm_75"), 40}, Target{arch_limits("sm_90"), 132}}) {
    for (const DType dtype : kDTypes) {
      const auto configs = tightest(held.enumerate(dtype, ladders, target));
      EXPECT_GE(configs.size(), 8U) << to_string(dtype);
      for (const Constants& constants : configs) {
        const auto kernel = compiler.compile("held", held.macros(dtype, constants), target.limits.arch);
        EXPECT_FALSE(kernel.resources.uses_local_memory())
            << target.limits.arch << ' ' << to_string(Config{"held", constants, dtype}) << ": "
            << kernel.resources.stack_bytes;
      }
    }
  }
}

// What keeps the compiler from working pointers out anew also hides from it where they point. An access to memory of
// any kind takes longer.
TEST_P(VariantsPtx, AccessesNameTheirSpace) {
  SKIP_WITHOUT_NVRTC();
  const jit::Compiler compiler(test_nvrtc(GetParam()), jit::Sources::product(), nullptr);
  for (const Variant* variant : registry().all()) {
    for (const Config& config : extremes_of(*variant, {arch_limits("sm_75"), 40})) {
      const auto kernel =
          ptx::parse(compiler.compile_ptx(config.variant, variant->macros(config.dtype, config.constants), "sm_75"));
      for (const char* access : {"ld.u", "ld.f", "ld.v", "ld.b", "st.u", "st.f", "st.v", "st.b"})
        EXPECT_TRUE(ptx::find(kernel, access).empty()) << to_string(config) << ": " << access;
    }
  }
}

TEST_P(VariantsPtx, LaunchesThatOverlapWaitBeforeTheirFirstAccess) {
  SKIP_WITHOUT_NVRTC();
  const jit::Compiler compiler(test_nvrtc(GetParam()), jit::Sources::product(), nullptr);
  for (const Variant* variant : registry().all()) {
    for (const Config& config : last_of_each_type(extremes_of(*variant, {arch_limits("sm_90"), 132}))) {
      const Problem problem{config.dtype, 1, 1};
      if (!variant->geometry(problem, config.constants).overlaps) continue;
      const auto kernel =
          ptx::parse(compiler.compile_ptx(config.variant, variant->macros(config.dtype, config.constants), "sm_90"));
      const auto waits = ptx::find(kernel, "griddepcontrol.wait");
      ASSERT_FALSE(waits.empty()) << to_string(config);
      for (const char* access : {"ld.global", "st.global", "cp.async.cg"})
        for (const std::size_t at : ptx::find(kernel, access)) EXPECT_GT(at, waits.front()) << to_string(config);
      EXPECT_FALSE(ptx::find(kernel, "griddepcontrol.launch_dependents").empty()) << to_string(config);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Nvrtc, VariantsPtx, testing::Values("default", "12.4"), [](const auto& p) {
  return std::string(p.param) == "default" ? "default_nvrtc" : "nvrtc_12_4";
});

}  // namespace
}  // namespace softmax_dispatch
