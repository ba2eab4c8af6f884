// The numeric suite of every variant, on the simulated device: it computes right, and does nothing that the checks of
// the simulator find.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <string>
#include <tuple>

#include "sim/sim_fixture.hpp"
#include "variants/registry.hpp"
#include "verify/verify.hpp"

namespace softmax_dispatch::sim {
namespace {

class VariantsVerify : public testing::TestWithParam<std::string> {};

TEST_P(VariantsVerify, PassesTheNumericSuite) {
  const Variant& variant = registry().at(GetParam());
  const auto device = simulated_t4();
  const Target target{device->info().limits, device->info().sm_count};
  for (const Constants& constants : variant.extremes(target)) {
    const auto t0 = std::chrono::steady_clock::now();
    const auto kernel = device->load(product_ptx(GetParam(), variant.compile_time(constants)), GetParam());
    const auto t1 = std::chrono::steady_clock::now();
    const verify::Outcome outcome = verify::run(*device, variant, constants, *kernel, verify::Depth::brief);
    const auto t2 = std::chrono::steady_clock::now();
    EXPECT_TRUE(outcome.passed) << softmax_dispatch::to_string(constants) << ": " << outcome.reason;
    std::cout << GetParam() << ' ' << softmax_dispatch::to_string(constants) << " load "
              << std::chrono::duration<double>(t1 - t0).count() << " verify "
              << std::chrono::duration<double>(t2 - t1).count() << " cases " << outcome.cases << '\n';
  }
}

std::vector<std::string> ids() {
  std::vector<std::string> result;
  for (const Variant* variant : registry().all()) result.emplace_back(variant->id());
  return result;
}

INSTANTIATE_TEST_SUITE_P(Registry, VariantsVerify, testing::ValuesIn(ids()), [](const auto& p) { return p.param; });

}  // namespace
}  // namespace softmax_dispatch::sim
