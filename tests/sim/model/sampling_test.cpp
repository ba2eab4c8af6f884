// That the few blocks and rows that are run for a time tell the counts of the whole launch.
#include <gtest/gtest.h>

#include "device/sim/open.hpp"
#include "device/sim/sampled_counts.hpp"
#include "sim/model/fit.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::sim {
namespace {

struct Case {
  std::string config;
  std::int64_t M, N;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.config << " at " << one.M << "x" << one.N;
}

class Sampling : public ::testing::TestWithParam<Case> {};

TEST_P(Sampling, CountsAreThoseOfTheWholeLaunch) {
  const auto& [text, M, N] = GetParam();
  const Config config = parse_config(text);
  const Workload sampled = WorkloadMaker(*simulated_info("sm_75"), InstructionCosts()).make(config, M, N);
  const Variant& variant = registry().at(config.variant);
  const jit::Compiler compiler(jit::Nvrtc::open(), jit::Sources::product(), nullptr);
  const auto device = open("sm_75", {.sampled_blocks = 0});
  const auto kernel = device->load(
      compiler.compile_ptx(config.variant, variant.macros(config.dtype, config.constants), "sm_75"), config.variant);
  Buffer x(*device, static_cast<std::size_t>(M * N) * size_of(config.dtype)), y(*device, x.bytes());
  device->fill(x.get(), 0, x.bytes());
  const Geometry geometry = variant.geometry({config.dtype, M, N}, config.constants);
  Launch launch{kernel.get(), geometry, x.get(), y.get(), M, N};
  launch.element_bytes = static_cast<int>(size_of(config.dtype));
  const LaunchCounts all = device->count(launch);
  ASSERT_EQ(all.sampled_blocks, all.blocks);
  EXPECT_EQ(sampled.counts.blocks, all.blocks);
  const auto near = [](std::uint64_t got, std::uint64_t expected) {
    EXPECT_NEAR(static_cast<double>(got), static_cast<double>(expected), 0.02 * static_cast<double>(expected));
  };
  near(sampled.counts.warps, all.warps);
  near(sampled.counts.warp_instructions, all.warp_instructions);
  near(sampled.counts.sectors_load, all.sectors_load);
  near(sampled.counts.sectors_store, all.sectors_store);
  near(sampled.counts.bytes_load, all.bytes_load);
  near(sampled.counts.bytes_store, all.bytes_store);
  for (const OpClass one : {OpClass::global_load, OpClass::global_store, OpClass::special_function, OpClass::shuffle,
                            OpClass::barrier, OpClass::fp32})
    near(sampled.counts.of(one), all.of(one));
  EXPECT_GT(sampled.counts.issue_slots, 0);
  const auto cycles = [](const BlockPath& path) {
    return path.cycles + 500 * path.first_trips + 100 * path.again_trips;
  };
  EXPECT_GT(cycles(sampled.counts.path), 0);
  EXPECT_LE(cycles(sampled.counts.path), 1.001 * cycles(sampled.counts.longest_path));
}

INSTANTIATE_TEST_SUITE_P(All, Sampling,
                         ::testing::Values(Case{"v7 THREADS=256 VEC_ITEMS=1", 3000, 257},
                                           Case{"v6_double THREADS=128 VEC_ITEMS=4", 1000, 1030},
                                           Case{"v5 THREADS=64", 1, 1000}, Case{"v2 THREADS=128", 7, 99},
                                           Case{"v8 THREADS=256", 20001, 100}, Case{"v8 THREADS=1024", 999, 257},
                                           Case{"v10 THREADS=128 VEC_ITEMS=4", 4096, 500},
                                           Case{"unbounded f16 THREADS=128", 777, 1001},
                                           Case{"unbounded bf16 THREADS=64", 4000, 35},
                                           Case{"v9 GRID=80 THREADS=256 VEC_ITEMS=2", 9000, 130},
                                           Case{"v9 GRID=37 THREADS=128 VEC_ITEMS=2", 5000, 129},
                                           Case{"v9 GRID=320 THREADS=256 VEC_ITEMS=2", 1000, 1000}));

}  // namespace
}  // namespace softmax_dispatch::sim
