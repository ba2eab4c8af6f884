// The numeric suite of every variant, on the simulated device: it computes right, and does nothing that the checks of
// the simulator find. Driven by the registry: every variant at every extreme of its axes, in full.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "sim/sim_fixture.hpp"
#include "support/configs.hpp"
#include "variants/registry.hpp"
#include "verify/verify.hpp"

namespace softmax_dispatch::sim {
namespace {

class VariantsVerify : public testing::TestWithParam<Config> {
 protected:
  static void expect_passes(verify::Depth depth) {
    const auto& [id, constants, dtype] = GetParam();
    const Variant& variant = registry().at(id);
    const auto device = simulated_t4(kOneThread);
    const auto kernel = device->load(product_ptx(id, variant.macros(dtype, constants)), id);
    const auto begin = std::chrono::steady_clock::now();
    const verify::Outcome outcome = verify::run(*device, variant, dtype, constants, *kernel, depth);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    EXPECT_TRUE(outcome.passed) << outcome.reason;
    std::cout << to_string(GetParam()) << ": " << outcome.cases << " cases in " << seconds.count() << " s, rows up to "
              << outcome.N_to << ", largest error " << outcome.worst_error << " of what is allowed\n";
  }
};

TEST_P(VariantsVerify, InFull) {
  expect_passes(verify::Depth::full);
}

/// At the largest: the first-use check of a dispatcher.
class LargestVerify : public VariantsVerify {};

TEST_P(LargestVerify, Briefly) {
  expect_passes(verify::Depth::brief);
}

std::vector<Config> extremes() {
  return extremes_of_all({arch_limits("sm_75"), t4().sm_count});
}

std::vector<Config> largest() {
  return last_of_each_type(extremes());
}

const auto kName = [](const auto& config) { return test_name(config.param); };

INSTANTIATE_TEST_SUITE_P(Extremes, VariantsVerify, testing::ValuesIn(extremes()), kName);
INSTANTIATE_TEST_SUITE_P(Extremes, LargestVerify, testing::ValuesIn(largest()), kName);

}  // namespace
}  // namespace softmax_dispatch::sim
