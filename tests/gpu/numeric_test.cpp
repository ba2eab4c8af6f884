// Every variant of the registry gives right results on this GPU: the whole verification suite at the extremes of its
// axes and on a ladder of configurations.
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

#include "gpu/gpu.hpp"
#include "verify/verify.hpp"

namespace softmax_dispatch {
namespace {

class Numeric : public testing::TestWithParam<std::string> {
 protected:
  void verify(const Constants& constants) {
    const Variant& variant = registry().at(GetParam());
    const std::string config = to_string(Config{std::string(variant.id()), constants});
    const auto kernel = gpu_.load(variant, constants);
    const verify::Outcome outcome = verify::run(gpu_.device(), variant, constants, *kernel, verify::Depth::full);
    EXPECT_TRUE(outcome.passed) << config << ": " << outcome.reason;
    EXPECT_EQ(outcome.N_to, variant.accurate_N(constants)) << config;
    std::cout << config << ": " << outcome.cases << " cases, worst error " << outcome.worst_error
              << " of the tolerance\n";
  }

  Gpu gpu_;
};

TEST_P(Numeric, Extremes) {
  const auto extremes = registry().at(GetParam()).extremes(gpu_.target());
  ASSERT_FALSE(extremes.empty());
  for (const Constants& constants : extremes) verify(constants);
}

TEST_P(Numeric, Ladder) {
  // Two warps, a number of warps that is no power of two, and a usual block.
  const Ladders ladders{{"THREADS", {64, 96, 256}}, {"ITEMS", {3, 16}}, {"VEC_ITEMS", {2, 4}}, {"GRID", {2}}};
  const auto configs = registry().at(GetParam()).enumerate(ladders, gpu_.target());
  ASSERT_FALSE(configs.empty());
  for (const Constants& constants : configs) verify(constants);
}

std::vector<std::string> ids() {
  std::vector<std::string> result;
  for (const Variant* variant : registry().all()) result.emplace_back(variant->id());
  return result;
}

INSTANTIATE_TEST_SUITE_P(Variants, Numeric, testing::ValuesIn(ids()), [](const auto& id) { return id.param; });

}  // namespace
}  // namespace softmax_dispatch
