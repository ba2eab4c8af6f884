// What of the planted faults and mutations needs no GPU: their text still fits the product's kernels, compiles, and
// shows local memory where that is the fault.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu/planted/mutations.hpp"
#include "gpu/planted/planted.hpp"
#include "jit/compiler.hpp"
#include "support/arch.hpp"

namespace softmax_dispatch::planted {
namespace {

// ptxas unrolls for sm_75 what NVRTC was told not to.
constexpr const char* kArch = "sm_90";

jit::CompiledKernel compiled(const Registry& variants, const jit::Sources& sources, const Config& config) {
  const Variant& variant = variants.at(config.variant);
  const Support support = variant.supports(config.dtype, config.constants, {arch_limits(kArch), 0});
  EXPECT_TRUE(support) << support.reason;
  return jit::Compiler(jit::Nvrtc::open(), sources, nullptr)
      .compile(config.variant, variant.macros(config.dtype, config.constants), kArch);
}

class MutationCompiles : public testing::TestWithParam<Mutation> {};

TEST_P(MutationCompiles, AndUsesLocalMemoryWhereThatIsItsEffect) {
  const Mutation& mutation = GetParam();
  const jit::Resources resources = compiled(softmax_dispatch::registry(), mutated(mutation), mutation.config).resources;
  EXPECT_EQ(resources.uses_local_memory(), mutation.effect == Effect::local_memory) << resources.stack_bytes;
}

INSTANTIATE_TEST_SUITE_P(Traps, MutationCompiles, testing::ValuesIn(mutations()),
                         [](const auto& mutation) { return mutation.param.name; });

class PlantedCompiles : public testing::TestWithParam<std::string> {};

TEST_P(PlantedCompiles, AndUsesLocalMemoryWhereThatIsItsFault) {
  const Variant& variant = registry().at(GetParam());
  const Target target{arch_limits(kArch), 40};
  const Constants constants = variant.complete({DType::f32, 100, 1000}, {{"THREADS", 128}}, target);
  const jit::Resources resources = compiled(registry(), sources(), {GetParam(), constants}).resources;
  EXPECT_EQ(resources.uses_local_memory(), GetParam() == "planted_local_array") << resources.stack_bytes;
  EXPECT_EQ(resources.spill_store_bytes, 0);
}

std::vector<std::string> planted_ids() {
  std::vector<std::string> result;
  for (const Variant* variant : registry().all()) {
    if (softmax_dispatch::registry().find(variant->id()) == nullptr) result.emplace_back(variant->id());
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(Faults, PlantedCompiles, testing::ValuesIn(planted_ids()),
                         [](const auto& id) { return id.param; });

}  // namespace
}  // namespace softmax_dispatch::planted
