// PTX that NVRTC makes of the product's kernels for later architectures than the T4: all of it is known, and runs. That
// for the T4 runs in variants_verify_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "sim/ptx_runner.hpp"
#include "sim/sim_fixture.hpp"
#include "support/configs.hpp"
#include "support/error.hpp"
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

/// What newer architectures have and the simulator has not: clusters, pairs of 16-bit numbers.
constexpr const char* kNotSimulated =
    "does not support (this instruction|packed operands of this type): "
    "'(barrier\\.cluster|mapa|st\\.async|max\\.b?f16x2|cvt\\.rn\\.b?f16)";

TEST_P(ArchDecode, EveryVariantInEachType) {
  for (const Config& config : last_of_each_type(extremes_of_all({arch_limits(GetParam()), 40}))) {
    SCOPED_TRACE(to_string(config));
    std::shared_ptr<const Program> program;
    const Status status = guarded([&] { program = PtxRunner().decode(ptx(config)); });
    if (!status.ok()) {
      EXPECT_THAT(status.message(), testing::ContainsRegex(kNotSimulated));
      continue;
    }
    EXPECT_EQ(program->name, config.variant);
    EXPECT_GT(program->ops.size(), 50u);
  }
}

TEST_P(ArchDecode, RunsAndVerifies) {
  for (const char* id : {"v2", "v7", "v9", "unbounded"}) {
    const Variant& variant = registry().at(id);
    const Config config = extremes_of(variant, {arch_limits(GetParam()), 40}).front();
    const auto device = simulated_t4(kOneThread);
    const auto kernel = device->load(ptx(config), id);
    const verify::Outcome outcome =
        verify::run(*device, variant, config.dtype, config.constants, *kernel, verify::Depth::brief);
    EXPECT_TRUE(outcome.passed) << id << ": " << outcome.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(Archs, ArchDecode, testing::Values("sm_90"), [](const auto& p) { return p.param; });

}  // namespace
}  // namespace softmax_dispatch::sim
