// The kernel that reduces once (kernels_src/bench/reduce_once.cu), for every variant whose launch it can have: it
// compiles, and what it is there to take the time of is in the code.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "jit/compiler.hpp"
#include "jit/ptx.hpp"
#include "jit/test_nvrtc.hpp"
#include "support/configs.hpp"
#include "support/dtype.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch {
namespace {

class ReduceOnce : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto nvrtc = test_nvrtc(GetParam());
    if (!nvrtc) GTEST_SKIP() << missing_nvrtc(GetParam());
    compiler_ = std::make_unique<jit::Compiler>(nvrtc, jit::Sources::product(), nullptr);
  }

  std::vector<ptx::Instruction> code(const Macros& macros, const char* arch) const {
    return ptx::parse(compiler_->compile_ptx("reduce_once", macros, arch));
  }

  std::unique_ptr<jit::Compiler> compiler_;
};

TEST_P(ReduceOnce, CompilesForEveryLaunchAndStaysInRegisters) {
  for (const Target& target : {Target{arch_limits("sm_75"), 40}, Target{arch_limits("sm_90"), 132}}) {
    std::map<std::int64_t, int> compiled;
    for (const Config& config : extremes_of_all(target)) {
      const Variant& variant = registry().at(config.variant);
      const auto macros = variant.reduce_once(config.constants);
      if (!macros) continue;
      const jit::CompiledKernel kernel = compiler_->compile("reduce_once", {*macros, config.dtype}, target.limits.arch);
      const std::string name = target.limits.arch + ' ' + to_string(config);
      EXPECT_FALSE(kernel.resources.uses_local_memory()) << name << ": " << kernel.resources.stack_bytes;
      const Geometry shape = variant.geometry({config.dtype, 1, 1}, config.constants);
      EXPECT_GT(blocks_per_sm(target.limits, shape.block, kernel.resources.registers,
                              kernel.resources.shared_bytes + static_cast<int>(shape.shared_bytes)),
                0)
          << name << ": " << kernel.resources.registers << " registers cannot be launched";
      ++compiled[macros->at("OVER")];
    }
    const bool clusters = target.limits.major >= 9;
    EXPECT_EQ(compiled.size(), clusters ? 5U : 4U) << target.limits.arch;
  }
}

/// Macros of the kernel for rows in registers, three vectors of a thread.
Macros held(ReduceOver over, DType dtype) {
  Constants macros{{"BLOCKS", 2}, {"PARTS", over == ReduceOver::block ? 1 : 4}, {"SHARED_ITEMS", 0}};
  macros.insert({{"OVER", static_cast<std::int64_t>(over)}, {"STREAM", 1}, {"THREADS", 128}, {"VEC_ITEMS", 3}});
  return {macros, dtype};
}

TEST_P(ReduceOnce, LoadsEachVectorReducesAndStoresIt) {
  for (const DType dtype : kDTypes) {
    Constants of_lanes{{"LANES", 16}, {"OVER", 0}, {"ROWS", 1}, {"STREAM", 1}, {"THREADS", 128}, {"VEC_ITEMS", 3}};
    struct Floor {
      Macros macros;
      std::size_t shuffles;  // of a group of lanes, of a warp and of a block's warps; of a cluster's or other blocks'
      std::size_t plainly;   // of the vectors of rows that are not aligned, those that are not streamed
      std::size_t anew;      // shuffles of the code for aligned rows by which the thread's number is worked out anew
    };
    const Floor all[] = {
        {{of_lanes, dtype}, 4, 3, 0},
        {held(ReduceOver::block, dtype), 10, 3, 1},
        {held(ReduceOver::cluster, dtype), 15, 3, 1},
        {held(ReduceOver::grid, dtype), 15, 0, 1},
    };
    for (const auto& [macros, shuffles, plainly, anew] : all) {
      const auto kernel = code(macros, "sm_90");
      const std::string name = to_string(macros);
      for (const std::string access : {"ld.global", "st.global"}) {
        EXPECT_EQ(ptx::find(kernel, (access + ".cs.v4").c_str()).size(), 6 - plainly) << name;
        EXPECT_EQ(ptx::find(kernel, (access + ".v4").c_str()).size(), plainly) << name;
      }
      ASSERT_EQ(ptx::find(kernel, "shfl.sync").size(), 2 * shuffles + anew) << name;
      ASSERT_FALSE(ptx::find(kernel, "griddepcontrol.wait").empty()) << name;
      EXPECT_LT(ptx::find(kernel, "griddepcontrol.wait").front(), ptx::find(kernel, "ld.global").front()) << name;
      EXPECT_TRUE(ptx::find(kernel, "ex2").empty()) << name << ": a floor computes nothing that a copy needs not";
      // What is stored waits for the reduction: its last shuffle is ahead of the first store.
      ASSERT_FALSE(ptx::find(kernel, "st.global.cs.v4").empty()) << name;
      EXPECT_LT(ptx::find(kernel, "shfl.sync")[shuffles - 1], ptx::find(kernel, "st.global.cs.v4").front()) << name;
    }
    EXPECT_FALSE(ptx::find(code(held(ReduceOver::cluster, dtype), "sm_90"), "st.async").empty());
    EXPECT_FALSE(ptx::find(code(held(ReduceOver::grid, dtype), "sm_90"), "ld.relaxed.gpu").empty());
  }
}

TEST_P(ReduceOnce, OfATileGoesThroughSharedMemory) {
  Constants tile{{"ITEMS", 10}, {"LANES", 8}, {"OVER", 1}, {"STREAM", 0}, {"THREADS", 128}, {"TILE_ROWS", 16}};
  for (const DType dtype : kDTypes) {
    const auto kernel = code({tile, dtype}, "sm_90");
    EXPECT_FALSE(ptx::find(kernel, "cp.async.cg").empty());
    EXPECT_FALSE(ptx::find(kernel, "st.global.v4").empty());
    EXPECT_EQ(ptx::find(kernel, "shfl.sync").size(), 3U);
    EXPECT_EQ(ptx::find(kernel, "bar.sync").size() + ptx::find(kernel, "barrier.sync").size(), 1U);
  }
}

INSTANTIATE_TEST_SUITE_P(Nvrtc, ReduceOnce, testing::Values("default", "12.4"), [](const auto& p) {
  return std::string(p.param) == "default" ? "default_nvrtc" : "nvrtc_12_4";
});

}  // namespace
}  // namespace softmax_dispatch
