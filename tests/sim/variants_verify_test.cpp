// The numeric suite of every variant, on the simulated device: it computes right, and does nothing that the checks of
// the simulator find. Driven by the registry.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <string>

#include "sim/sim_fixture.hpp"
#include "variants/registry.hpp"
#include "verify/verify.hpp"

namespace softmax_dispatch::sim {
namespace {

class VariantsVerify : public testing::TestWithParam<std::string> {
 protected:
  void expect_passes(const Constants& constants, verify::Depth depth) {
    const Variant& variant = registry().at(GetParam());
    const auto device = simulated_t4();
    const auto kernel = device->load(product_ptx(GetParam(), variant.compile_time(constants)), GetParam());
    const auto t1 = std::chrono::steady_clock::now();
    const verify::Outcome outcome = verify::run(*device, variant, constants, *kernel, depth);
    EXPECT_TRUE(outcome.passed) << softmax_dispatch::to_string(constants) << ": " << outcome.reason;
    std::cout << GetParam() << ' ' << softmax_dispatch::to_string(constants) << " verify "
              << std::chrono::duration<double>(std::chrono::steady_clock::now() - t1).count() << " cases "
              << outcome.cases << '\n';
  }

  std::vector<Constants> extremes() const { return registry().at(GetParam()).extremes({arch_limits("sm_75"), 40}); }
};

TEST_P(VariantsVerify, BrieflyAtTheExtremesOfItsAxes) {
  for (const Constants& constants : extremes()) expect_passes(constants, verify::Depth::brief);
}

// In full where a row has the fewest threads: what takes long is the suite's many rows, and each costs its threads.
TEST_P(VariantsVerify, InFullAtItsSmallest) {
  expect_passes(extremes().front(), verify::Depth::full);
}

std::vector<std::string> ids() {
  std::vector<std::string> result;
  for (const Variant* variant : registry().all()) result.emplace_back(variant->id());
  return result;
}

INSTANTIATE_TEST_SUITE_P(Registry, VariantsVerify, testing::ValuesIn(ids()), [](const auto& p) { return p.param; });

}  // namespace
}  // namespace softmax_dispatch::sim
