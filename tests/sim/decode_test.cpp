// PTX that NVRTC makes of the product's kernels, for the T4 and for later architectures: all of it is known, and runs.
#include <gtest/gtest.h>

#include <string>

#include "sim/ptx_runner.hpp"
#include "sim/sim_fixture.hpp"
#include "support/configs.hpp"
#include "variants/registry.hpp"
#include "verify/verify.hpp"

namespace softmax_dispatch::sim {
namespace {

class ArchDecode : public testing::TestWithParam<std::string> {
 protected:
  static std::string ptx(const Config& config) {
    const jit::Compiler compiler(jit::Nvrtc::open(), jit::Sources::product(), nullptr);
    return compiler.compile_ptx(config.variant, registry().at(config.variant).macros(config.dtype, config.constants),
                                GetParam(), true);
  }
};

TEST_P(ArchDecode, EveryVariantAtItsExtremes) {
  for (const Config& config : extremes_of_all({arch_limits(GetParam()), 40})) {
    SCOPED_TRACE(to_string(config));
    const auto program = PtxRunner().decode(ptx(config));
    EXPECT_EQ(program->name, config.variant);
    EXPECT_GT(program->ops.size(), 50u);
  }
}

TEST_P(ArchDecode, RunsAndVerifies) {
  for (const char* id : {"v2", "v7", "v9", "unbounded"}) {
    const Variant& variant = registry().at(id);
    const Config config = extremes_of(variant, {arch_limits(GetParam()), 40}).front();
    const auto device = simulated_t4();
    const auto kernel = device->load(ptx(config), id);
    const verify::Outcome outcome =
        verify::run(*device, variant, config.dtype, config.constants, *kernel, verify::Depth::brief);
    EXPECT_TRUE(outcome.passed) << id << ": " << outcome.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(Archs, ArchDecode, testing::Values("sm_75", "sm_90"), [](const auto& p) { return p.param; });

}  // namespace
}  // namespace softmax_dispatch::sim
