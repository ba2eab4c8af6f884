#include "variants/row_kernel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/configs.hpp"
#include "support/error.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Target kT4{arch_limits("sm_75"), 40};
const Target kH200{arch_limits("sm_90"), 132};

Problem f32(std::int64_t M, std::int64_t N) {
  return {DType::f32, M, N};
}

TEST(RowKernel, LeastCapacityServesEachLengthAndOneLessDoesNot) {
  for (const Variant* variant : registry().all()) {
    if (!variant->exists(kT4.limits)) continue;
    for (const std::int64_t N : {1, 3, 4, 31, 250, 257, 1023, 1024, 1027, 1028, 4096, 4099}) {
      const Constants constants = variant->complete(f32(100, N), {}, kT4);
      EXPECT_TRUE(variant->supports(f32(100, N), constants, kT4)) << variant->id() << ' ' << N;
      for (const char* axis : {"ITEMS", "VEC_ITEMS"}) {
        if (!constants.contains(axis) || constants.at(axis) == 1) continue;
        Constants smaller = constants;
        --smaller[axis];
        if (variant->capacity_N(DType::f32, smaller) == variant->capacity_N(DType::f32, constants)) continue;
        EXPECT_FALSE(variant->supports(f32(100, N), smaller, kT4))
            << variant->id() << ' ' << N << ' ' << to_string(smaller);
      }
    }
  }
}

TEST(RowKernel, CapacitiesOfTheContract) {
  EXPECT_EQ(registry().at("v3").capacity_N(DType::f32, {{"ITEMS", 16}, {"THREADS", 256}}), 4096);
  EXPECT_EQ(registry().at("v7").capacity_N(DType::f32, {{"THREADS", 256}, {"VEC_ITEMS", 4}}), 4099);
  EXPECT_EQ(registry().at("v10").capacity_N(DType::f32, {{"THREADS", 256}, {"VEC_ITEMS", 2}}), 259);
  EXPECT_EQ(registry().at("v5").capacity_N(DType::f32, {{"THREADS", 256}}), 2147483647);
  EXPECT_EQ(registry().at("unbounded").capacity_N(DType::f32, {{"THREADS", 256}}), kUnbounded);
}

/// A kernel of every type, each thread holding vectors.
const RowKernel& typed() {
  static const RowKernel variant({.id = "typed",
                                  .summary = "",
                                  .needs = "",
                                  .dtypes = {DType::f32, DType::bf16},
                                  .capacity = Capacity::vectors,
                                  .capacity_most = 8,
                                  .accurate_elements_per_thread = kUnbounded});
  return variant;
}

TEST(RowKernel, AVectorHoldsMoreElementsOfASmallerType) {
  const Constants constants{{"THREADS", 64}, {"VEC_ITEMS", 2}};
  EXPECT_EQ(typed().capacity_N(DType::f32, constants), 4 * 128 + 3);
  EXPECT_EQ(typed().capacity_N(DType::bf16, constants), 8 * 128 + 7);
  EXPECT_THAT(typed().boundaries_N(DType::bf16, constants), ::testing::IsSupersetOf({8, 512, 1024, 1031}));
  EXPECT_EQ(typed().complete({DType::f32, 1, 1000}, {{"THREADS", 64}}, kT4).at("VEC_ITEMS"), 4);
  EXPECT_EQ(typed().complete({DType::bf16, 1, 1000}, {{"THREADS", 64}}, kT4).at("VEC_ITEMS"), 2);
}

TEST(RowKernel, RefusesTypesThatItDoesNotCompute) {
  const Support support = typed().supports(DType::f16, {{"THREADS", 64}, {"VEC_ITEMS", 2}}, kT4);
  EXPECT_FALSE(support);
  EXPECT_EQ(support.reason, "typed computes f32, bf16, not f16");
  EXPECT_TRUE(typed().computes(DType::bf16));
  EXPECT_FALSE(typed().computes(DType::f16));
}

TEST(RowKernel, OnlyAKernelOfSeveralTypesIsToldItsType) {
  const Constants constants{{"GRID", 8}, {"THREADS", 64}, {"VEC_ITEMS", 2}};
  EXPECT_EQ(to_string(typed().macros(DType::bf16, constants)), "THREADS=64 VEC_ITEMS=2 TYPE=bf16");
  EXPECT_EQ(to_string(typed().macros(DType::f32, constants)), "THREADS=64 VEC_ITEMS=2 TYPE=f32");
  EXPECT_EQ(to_string(registry().at("v9").macros(DType::f32, constants)), "THREADS=64 VEC_ITEMS=2");
}

TEST(RowKernel, GridFollowsTheOwnerOfARow) {
  EXPECT_EQ(registry().at("v5").geometry(f32(1025, 257), {{"THREADS", 256}}), (Geometry{1025, 256, 0}));
  EXPECT_EQ(registry().at("v8").geometry(f32(1025, 257), {{"THREADS", 256}}), (Geometry{129, 256, 0}));
  EXPECT_EQ(registry().at("v9").geometry(f32(1025, 257), {{"GRID", 256}, {"THREADS", 128}, {"VEC_ITEMS", 1}}),
            (Geometry{256, 128, 0}));
  EXPECT_EQ(registry().at("v9").geometry(f32(100, 257), {{"GRID", 256}, {"THREADS", 128}, {"VEC_ITEMS", 1}}),
            (Geometry{100, 128, 0}));
  EXPECT_EQ(registry().at("unbounded").geometry(f32(std::int64_t{1} << 40, 1), {{"THREADS", 256}}).grid, 2147483647);
}

TEST(RowKernel, RefusesWithTheReasonBeforeCompiling) {
  const auto reason = [](const char* id, const Problem& problem, const Constants& constants) {
    const Support support = registry().at(id).supports(problem, constants, kT4);
    EXPECT_FALSE(support);
    return support.reason;
  };
  EXPECT_THAT(reason("v3", f32(1, 5000), {{"ITEMS", 16}, {"THREADS", 256}}),
              HasSubstr("N=5000 is above the capacity 4096"));
  EXPECT_THAT(reason("v3", f32(1, 1), {{"ITEMS", 1024}, {"THREADS", 256}}), HasSubstr("ITEMS=1024 is not"));
  EXPECT_THAT(reason("v3", f32(1, 1), {{"ITEMS", 64}, {"THREADS", 1024}}), HasSubstr("at most 42"));
  EXPECT_THAT(reason("v7", f32(1, 1), {{"THREADS", 1024}, {"VEC_ITEMS", 16}}), HasSubstr("local memory"));
  EXPECT_THAT(reason("v1", f32(1, 1), {{"THREADS", 96}}), HasSubstr("power of two"));
  EXPECT_THAT(reason("v2", f32(1, 1), {{"THREADS", 100}}), HasSubstr("multiple of 32"));
  EXPECT_THAT(reason("v2", f32(1, 1), {}), HasSubstr("THREADS"));
  EXPECT_THAT(reason("v2", f32(1, 1), {{"THREADS", 64}, {"ITEMS", 1}}), HasSubstr("no axis ITEMS"));
  EXPECT_THAT(reason("v5", f32(std::int64_t{1} << 31, 1), {{"THREADS", 64}}), HasSubstr("2^31 - 1 blocks"));
  EXPECT_THAT(reason("v5", f32(1, std::int64_t{1} << 31), {{"THREADS", 64}}), HasSubstr("capacity 2147483647"));
  EXPECT_THAT(reason("v5", {DType::f16, 1, 1}, {{"THREADS", 64}}), HasSubstr("f16"));
  EXPECT_TRUE(registry().at("v2").supports(f32(1, 1), {{"THREADS", 96}}, kT4));
  EXPECT_TRUE(registry().at("v8").supports(f32((std::int64_t{1} << 31) + 5, 1), {{"THREADS", 64}}, kT4));
}

TEST(RowKernel, AccurateLengthFollowsTheChain) {
  EXPECT_EQ(registry().at("v8").accurate_N(DType::f32, {{"THREADS", 256}}), 48 * 32);
  EXPECT_EQ(registry().at("v5").accurate_N(DType::f32, {{"THREADS", 256}}), 48 * 256);
  EXPECT_EQ(registry().at("v6").accurate_N(DType::f32, {{"THREADS", 256}, {"VEC_ITEMS", 4}}), 4099);
  EXPECT_EQ(registry().at("v9").accurate_N(DType::f32, {{"GRID", 1}, {"THREADS", 32}, {"VEC_ITEMS", 48}}), 48 * 32);
  EXPECT_EQ(registry().at("unbounded").accurate_N(DType::f32, {{"THREADS", 32}}), kUnbounded);
}

TEST(RowKernel, CompleteKeepsWhatIsSetAndRaisesThreadsOnlyWhereFree) {
  const Variant& v3 = registry().at("v3");
  EXPECT_EQ(v3.complete(f32(128, 16384), {{"THREADS", 512}}, kT4), (Constants{{"ITEMS", 32}, {"THREADS", 512}}));
  EXPECT_EQ(v3.complete(f32(128, 40000), {}, kH200).at("THREADS"), 512);
  EXPECT_EQ(registry().at("v9").complete(f32(7, 100), {}, kT4).at("GRID"), 7);
  try {
    (void)v3.complete(f32(1, 1 << 20), {}, kT4);
    FAIL() << "a row of a million does not fit";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("f32:1x1048576"));
  }
}

TEST(RowKernel, EnumerateTakesTheLaddersAndDropsWhatTheTargetRefuses) {
  const Ladders ladders{{"THREADS", {96, 256, 1024}}, {"ITEMS", {1, 64}}, {"VEC_ITEMS", {1, 16}}, {"GRID", {2}}};
  EXPECT_THAT(registry().at("v1").enumerate(DType::f32, ladders, kT4),
              ElementsAre(Constants{{"THREADS", 256}}, Constants{{"THREADS", 1024}}));
  EXPECT_EQ(registry().at("v3").enumerate(DType::f32, ladders, kT4).size(), 5u)
      << "ITEMS=64 with THREADS=1024 does not fit";
  for (const Constants& constants : registry().at("v9").enumerate(DType::f32, ladders, kH200))
    EXPECT_EQ(constants.at("GRID"), 264);
  EXPECT_THROW((void)registry().at("v3").enumerate(DType::f32, {{"THREADS", {256}}}, kT4), Error);
}

TEST(RowKernel, BoundariesLieWithinTheAccurateRange) {
  for (const Config& config : extremes_of_all(kT4)) {
    const Variant& variant = registry().at(config.variant);
    const auto lengths = variant.boundaries_N(config.dtype, config.constants);
    ASSERT_FALSE(lengths.empty()) << to_string(config);
    EXPECT_TRUE(std::is_sorted(lengths.begin(), lengths.end()));
    EXPECT_GE(lengths.front(), 1);
    EXPECT_LE(lengths.back(), variant.accurate_N(config.dtype, config.constants));
  }
}

TEST(Registry, FindsById) {
  EXPECT_EQ(registry().at("v7").id(), "v7");
  EXPECT_EQ(registry().find("v77"), nullptr);
  EXPECT_THROW((void)registry().at("v77"), Error);
  EXPECT_TRUE(unbounded_variant().serves_every_shape());
  EXPECT_FALSE(registry().at("v4_branchy").selectable());
}

TEST(Registry, UnboundedVariantServesTheLargestAndTheSmallestShapes) {
  const Variant& variant = unbounded_variant();
  for (const std::int64_t M : {std::int64_t{1}, std::int64_t{1} << 33}) {
    for (const std::int64_t N : {std::int64_t{1}, (std::int64_t{1} << 33) + 1}) {
      EXPECT_TRUE(variant.supports(f32(M, N), variant.complete(f32(M, N), {}, kT4), kT4)) << M << 'x' << N;
    }
  }
}

}  // namespace
}  // namespace softmax_dispatch
