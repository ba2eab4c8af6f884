// Vectors that lie partly before or after the matrix are not read. Verification cannot see it where they are: its
// guards are memory like any other. Here nothing was ever written before the matrix, and nothing is after it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu/planted/mutations.hpp"
#include "sim/sim_fixture.hpp"
#include "support/elements.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::sim {
namespace {

/// The fault of one launch over rows that begin and end inside of a vector; empty where there is none.
std::string fault_of(const Config& config, const std::vector<planted::Edit>& edits, bool in_place) {
  const Variant& variant = registry().at(config.variant);
  const jit::Sources sources = planted::mutated({"outside", config, edits, planted::Effect::fails, ""});
  const jit::Compiler compiler(jit::Nvrtc::open(), sources, nullptr);
  const auto device = simulated_t4(kOneThread);
  const auto kernel =
      device->load(compiler.compile_ptx(config.variant, variant.macros(config.dtype, config.constants), "sm_75", true),
                   config.variant);
  constexpr std::int64_t kM = 3, kN = 35, kSkew = 1;
  const std::size_t size = size_of(config.dtype);
  const std::vector<std::byte> input = to_elements(config.dtype, std::vector<float>(kM * kN, 1.0f));
  Buffer x(*device, kSkew * size + input.size()), y(*device, kSkew * size + input.size());
  device->upload(x.get() + kSkew * size, input.data(), input.size());
  Launch launch{kernel.get(),
                variant.geometry({config.dtype, kM, kN}, config.constants),
                x.get() + kSkew * size,
                (in_place ? x.get() : y.get()) + kSkew * size,
                kM,
                kN};
  launch.element_bytes = static_cast<int>(size);
  try {
    device->launch(launch, {});
    device->synchronize();
  } catch (const Fault& fault) {
    return fault.what();
  }
  return "";
}

TEST(Outside, WhatIsBesideTheMatrixIsNotRead) {
  const std::vector<planted::Edit> after_row{{"    end = elements;", "    end = elements + 1;"}};
  for (const char* text : {"lanes LANES=8 ROWS=1 STREAM=0 THREADS=32 VEC_ITEMS=2",
                           "lanes f16 LANES=8 ROWS=1 STREAM=1 THREADS=32 VEC_ITEMS=2",
                           "held BLOCKS=1 SHARED_ITEMS=0 STREAM=0 THREADS=32 VEC_ITEMS=2",
                           "held bf16 BLOCKS=1 SHARED_ITEMS=0 STREAM=1 THREADS=32 VEC_ITEMS=2"}) {
    const Config config = parse_config(text);
    for (const bool in_place : {false, true}) {
      EXPECT_EQ(fault_of(config, {}, in_place), "") << text;
      EXPECT_THAT(fault_of(config, after_row, in_place), ::testing::HasSubstr("out of bounds")) << text;
    }
  }
}

// A run of rows is read by the vectors that cover it.
TEST(Outside, VectorsBesideTheMatrixAreNotRead) {
  const std::vector<planted::Edit> before{{"skew <= before ?", "true ?"}};
  const std::vector<planted::Edit> after{{"covered ? end + after : 0", "covered ? end + kVector : 0"}};
  for (const char* text : {"tile ITEMS=10 LANES=8 STREAM=0 THREADS=32 TILE_ROWS=2",
                           "tile f16 ITEMS=10 LANES=8 STREAM=1 THREADS=32 TILE_ROWS=2"}) {
    const Config config = parse_config(text);
    for (const bool in_place : {false, true}) {
      EXPECT_EQ(fault_of(config, {}, in_place), "") << text;
      EXPECT_THAT(fault_of(config, before, in_place), ::testing::ContainsRegex("global load of [0-9]+ uninit")) << text;
      EXPECT_THAT(fault_of(config, after, in_place), ::testing::HasSubstr("out of bounds")) << text;
    }
  }
}

}  // namespace
}  // namespace softmax_dispatch::sim
