// Every variant of the registry gives right results on this GPU: the whole verification suite at the extremes of its
// axes and on a ladder of configurations.
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

#include "gpu/gpu.hpp"
#include "support/configs.hpp"
#include "support/ladders.hpp"
#include "verify/verify.hpp"

namespace softmax_dispatch {
namespace {

class Numeric : public testing::TestWithParam<std::string> {
 protected:
  void verify(const Config& config) {
    const Variant& variant = registry().at(GetParam());
    const auto kernel = gpu_.load(variant, config.constants, config.dtype);
    const verify::Outcome outcome =
        verify::run(gpu_.device(), variant, config.dtype, config.constants, *kernel, verify::Depth::full);
    const std::string name = to_string(config);
    EXPECT_TRUE(outcome.passed) << name << ": " << outcome.reason;
    EXPECT_EQ(outcome.N_to, variant.accurate_N(config.dtype, config.constants)) << name;
    std::cout << name << ": " << outcome.cases << " cases, worst error " << outcome.worst_error
              << " of the tolerance\n";
  }

  Gpu gpu_;
};

TEST_P(Numeric, Extremes) {
  const auto extremes = extremes_of(registry().at(GetParam()), gpu_.target());
  ASSERT_FALSE(extremes.empty());
  for (const Config& config : extremes) verify(config);
}

TEST_P(Numeric, Ladder) {
  const Ladders ladders = small_ladders();
  const Variant& variant = registry().at(GetParam());
  for (const DType dtype : variant.dtypes()) {
    const auto configs = variant.enumerate(dtype, ladders, gpu_.target());
    ASSERT_FALSE(configs.empty());
    for (const Constants& constants : configs) verify({GetParam(), constants, dtype});
  }
}

std::vector<std::string> ids() {
  std::vector<std::string> result;
  for (const Variant* variant : registry().all()) result.emplace_back(variant->id());
  return result;
}

INSTANTIATE_TEST_SUITE_P(Variants, Numeric, testing::ValuesIn(ids()), [](const auto& id) { return id.param; });

}  // namespace
}  // namespace softmax_dispatch
