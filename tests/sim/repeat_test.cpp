// Blocks that do what another block did are not executed again: nothing but the time may show it.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "sim/repeated.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::sim {
namespace {

using ::testing::HasSubstr;

class RepeatedVariants : public testing::TestWithParam<std::string> {};

TEST_P(RepeatedVariants, SameBitsAndCounts) {
  const Variant& variant = registry().at(GetParam());
  const Target target{arch_limits("sm_75"), 40};
  for (const std::int64_t N : {3, 8}) {
    const Problem problem{DType::f32, kM, N};
    const Constants constants = variant.complete(problem, {{"THREADS", 64}}, target);
    const Geometry geometry = variant.geometry(problem, constants);
    Repeated launch{.ptx = product_ptx(GetParam(), variant.macros(DType::f32, constants)), .N = N};
    launch.grid = static_cast<std::uint64_t>(geometry.grid);
    const auto expect = [&](const std::string& what) {
      SCOPED_TRACE(what + " N " + std::to_string(N));
      const std::uint64_t repeated = launch.expect_same();
      if (launch.grid == kM) {
        EXPECT_GT(repeated, launch.grid / 2);
      }
    };
    if (N == 8) {
      expect("aligned");
      continue;
    }
    launch.x_offset = 1;
    launch.y_offset = 2;
    expect("misaligned");
    launch.in_place = true;
    expect("in place");
  }
}

/// Blocks that talk to each other through a workspace are never repeated.
std::vector<std::string> ids() {
  const Target target{arch_limits("sm_75"), 40};
  const Problem problem{DType::f32, kM, 8};
  std::vector<std::string> result;
  for (const Variant* variant : registry().all()) {
    if (!variant->exists(target.limits)) continue;
    if (variant->geometry(problem, variant->complete({DType::f32, 1, 8}, {}, target)).workspace_bytes == 0)
      result.emplace_back(variant->id());
  }
  return result;
}
INSTANTIATE_TEST_SUITE_P(Registry, RepeatedVariants, testing::ValuesIn(ids()), [](const auto& p) { return p.param; });

constexpr const char* kThread =
    "  const long long i = blockIdx.x * N + threadIdx.x;\n  if (threadIdx.x >= N) return;\n";

TEST(Repeat, BlocksThatReadTheSame) {
  const std::uint64_t repeated = Repeated{.ptx = kernel(std::string(kThread) + "y[i] = 2 * x[i];")}.expect_same();
  EXPECT_GT(repeated, static_cast<std::uint64_t>(kM) * 9 / 10);
}

TEST(Repeat, NotWhereAllRowsDiffer) {
  EXPECT_EQ(
      (Repeated{.ptx = kernel(std::string(kThread) + "y[i] = 2 * x[i] + 1;"), .N = 1, .period = kM}.expect_same()), 0u)
      << "no row is another's";
}

TEST(Repeat, NotWhereTheNumberOfTheBlockIsPartOfTheResult) {
  for (const std::string value : {"blockIdx.x", "x[i] + blockIdx.x % 5", "x[i] * (blockIdx.x / 3)"})
    EXPECT_EQ(Repeated{.ptx = kernel(kThread + ("y[i] = " + value + ";"))}.expect_same(), 0u) << value;
}

TEST(Repeat, OnlyOnOneSideOfAComparisonWithTheNumber) {
  for (const std::string test : {"blockIdx.x < 2500", "(int)blockIdx.x - 4000 >= 0", "blockIdx.x == 4321",
                                 "blockIdx.x != 17", "(blockIdx.x & 7) < 3"})
    EXPECT_GT(Repeated{.ptx = kernel(kThread + ("y[i] = " + test + " ? 2 * x[i] : 3 * x[i];"))}.expect_same(), 0u)
        << test;
}

TEST(Repeat, NotWhatABlockReadsAfterItWroteIt) {
  Repeated{.ptx = kernel(std::string(kThread) + R"(
  volatile float* z = y;
  z[i] = x[i];
  z[i] = z[i] + 1;)")}
      .expect_same();
  Repeated{.ptx = kernel(std::string(kThread) + R"(
  y[i] = x[i];
  __syncthreads();
  y[i] += y[blockIdx.x * N];)"),
           .block = 32}
      .expect_same();
}

TEST(Repeat, RowsThatReadTheFirstRowToo) {
  Repeated{.ptx = kernel(std::string(kThread) + "y[i] = x[i] + x[threadIdx.x];")}.expect_same();
}

TEST(Repeat, SharedMemoryOfEachBlock) {
  EXPECT_GT((Repeated{.ptx = kernel(R"(
  __shared__ float a[64];
  a[threadIdx.x] = threadIdx.x < N ? x[blockIdx.x * N + threadIdx.x] : 0;
  __syncthreads();
  if (threadIdx.x < N) y[blockIdx.x * N + threadIdx.x] = a[threadIdx.x] + a[63 - threadIdx.x] + a[0];)")}
                 .expect_same()),
            0u);
}

// The faults of single blocks are found, and are the same as where every block is executed.
TEST(Repeat, FaultsOfOneBlock) {
  Repeated launch{.ptx = kernel(std::string(kThread) + "y[i] = 2 * x[i];")};
  launch.unwritten_row = 4711;
  const Result uninitialised = launch.run(true);
  EXPECT_THAT(uninitialised.error, HasSubstr("global load of 4 uninitialised bytes"));
  EXPECT_THAT(uninitialised.error, HasSubstr("block 4711, thread 0"));
  launch.expect_same();
  launch.unwritten_row.reset();
  launch.grid = kM + 1;
  const Result outside = launch.run(true);
  EXPECT_THAT(outside.error, HasSubstr("global load of 4 bytes out of bounds"));
  EXPECT_THAT(outside.error, HasSubstr("block 6000, thread 0"));
  launch.expect_same();
  // Only the store leaves its matrix.
  Repeated store{.ptx = kernel("if (threadIdx.x == 0) y[blockIdx.x] = x[blockIdx.x % 1];"), .N = 1, .grid = kM + 1};
  EXPECT_THAT(store.run(true).error, HasSubstr("global store of 4 bytes out of bounds"));
  store.expect_same();
}

TEST(Repeat, MisalignedRowsOfVectors) {
  Repeated launch{.ptx = kernel(R"(
  if (threadIdx.x == 0) *reinterpret_cast<float2*>(y + blockIdx.x * N) = make_float2(x[blockIdx.x * N], 1);)"),
                  .N = 3};
  EXPECT_THAT(launch.run(true).error, HasSubstr("misaligned global store of 8 bytes"));
  launch.expect_same();
}

TEST(Repeat, NeverKernelsThatCommunicateOrReadTheClock) {
  for (const std::string body :
       {"y[i] = x[i]; unsigned t; asm volatile(\"mov.u32 %0, %%clock;\" : \"=r\"(t)); if (t == 7) y[i] = 1;",
        "atomicAdd(y, 0.0f);", "volatile float* z = y; z[i] = x[i];",
        "unsigned s; asm(\"mov.u32 %0, %%smid;\" : \"=r\"(s)); y[i] = x[i] + s;"}) {
    const Result got = Repeated{.ptx = kernel(kThread + body)}.run(true);
    EXPECT_EQ(got.counts.repeated, 0u) << body;
  }
}

}  // namespace
}  // namespace softmax_dispatch::sim
