// Every variant compiles at the extremes of its axes: for sm_75 and sm_90 at all of them. With the compiler of today's
// T4 hosts at the last of each type, for the architectures between, of which the sources know no difference, at the
// last of one type. Driven by the registry.
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <tuple>

#include "jit/compiler.hpp"
#include "jit/test_nvrtc.hpp"
#include "support/configs.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch {
namespace {

using Case = std::tuple<std::string, std::string, std::string>;  // variant, arch, NVRTC

class VariantsCompile : public testing::TestWithParam<Case> {};

TEST_P(VariantsCompile, AtTheExtremesOfItsAxes) {
  const auto& [id, arch, which] = GetParam();
  const auto nvrtc = test_nvrtc(which);
  if (!nvrtc) GTEST_SKIP() << missing_nvrtc(which);
  const Variant& variant = registry().at(id);
  const jit::Compiler compiler(nvrtc, jit::Sources::product(), nullptr);
  const Target target{arch_limits(arch), 40};
  auto extremes = extremes_of(variant, target);
  const bool in_full = which == "default" && (arch == "sm_75" || arch == "sm_90");
  if (!in_full) extremes = last_of_each_type(extremes);
  if (which == "default" && !in_full && !extremes.empty()) extremes = {extremes.back()};
  ASSERT_EQ(extremes.empty(), !variant.exists(target.limits));
  for (const Config& config : extremes) {
    const Constants& constants = config.constants;
    ASSERT_TRUE(variant.supports(config.dtype, constants, target)) << to_string(config);
    const jit::CompiledKernel kernel = compiler.compile(id, variant.macros(config.dtype, constants), arch);
    EXPECT_EQ(kernel.entry, id);
    EXPECT_FALSE(kernel.image.empty());
    const auto threads = static_cast<int>(constants.at("THREADS"));
    EXPECT_FALSE(kernel.resources.uses_local_memory())
        << to_string(config) << ": " << kernel.resources.stack_bytes << " bytes of stack";
    EXPECT_GT(blocks_per_sm(target.limits, threads, kernel.resources.registers, kernel.resources.shared_bytes), 0)
        << to_string(config) << ": " << kernel.resources.registers << " registers cannot be launched";
  }
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const Variant* variant : registry().all()) {
    for (const char* arch : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90"}) {
      result.emplace_back(variant->id(), arch, "default");
    }
    result.emplace_back(variant->id(), "sm_75", "12.4");
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(Registry, VariantsCompile, testing::ValuesIn(cases()), [](const auto& p) {
  return std::get<0>(p.param) + "_" + std::get<1>(p.param) + (std::get<2>(p.param) == "default" ? "" : "_nvrtc_12_4");
});

class RowInRegisters : public testing::TestWithParam<const char*> {};

TEST_P(RowInRegisters, KeepsZeroStackBytesOnSm75) {
  const auto nvrtc = test_nvrtc(GetParam());
  if (!nvrtc) GTEST_SKIP() << missing_nvrtc(GetParam());
  const jit::Compiler compiler(nvrtc, jit::Sources::product(), nullptr);
  const auto stack = [&](const char* id, const Constants& constants) {
    return compiler.compile(id, constants, "sm_75").resources.stack_bytes;
  };
  for (const std::int64_t threads : {32, 128, 256, 512, 1024}) {
    for (const std::int64_t items : {1, 4, 16})
      EXPECT_EQ(stack("v3", {{"THREADS", threads}, {"ITEMS", items}}), 0) << threads << ' ' << items;
    for (const std::int64_t vectors : {1, 2, 4}) {
      EXPECT_EQ(stack("v7", {{"THREADS", threads}, {"VEC_ITEMS", vectors}}), 0) << threads << ' ' << vectors;
    }
  }
}

// For information: the published kernels were other sources, so these figures are not expected to be theirs.
TEST_P(RowInRegisters, RegistersBesideThePublishedOnes) {
  const auto nvrtc = test_nvrtc(GetParam());
  if (!nvrtc) GTEST_SKIP() << missing_nvrtc(GetParam());
  const jit::Compiler compiler(nvrtc, jit::Sources::product(), nullptr);
  const std::tuple<const char*, Constants, int> published[] = {
      {"v3", {{"THREADS", 256}, {"ITEMS", 64}}, 161},
      {"v3", {{"THREADS", 512}, {"ITEMS", 32}}, 89},
      {"v4", {{"THREADS", 256}}, 20},
      {"v7", {{"THREADS", 256}, {"VEC_ITEMS", 4}}, 41},
  };
  for (const auto& [id, constants, registers] : published) {
    const jit::Resources resources = compiler.compile(id, constants, "sm_75").resources;
    EXPECT_GT(resources.registers, 0);
    std::cout << "sm_75 " << id << ' ' << to_string(constants) << ": " << resources.registers
              << " registers (published " << registers << "), stack " << resources.stack_bytes << " bytes, NVRTC "
              << nvrtc->build() << '\n';
  }
}

INSTANTIATE_TEST_SUITE_P(Nvrtc, RowInRegisters, testing::Values("default", "12.4"), [](const auto& p) {
  return std::string(p.param) == "default" ? "default_nvrtc" : "nvrtc_12_4";
});

}  // namespace
}  // namespace softmax_dispatch
