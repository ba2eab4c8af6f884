// Blocks that walk over rows: rounds that do what another one did are not executed again, also those of other blocks.
#include <gmock/gmock.h>

#include <string>

#include "sim/repeated.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::sim {
namespace {

using ::testing::HasSubstr;

TEST(RepeatedRounds, OfTheProductsWalker) {
  const Variant& variant = registry().at("v9");
  for (const std::int64_t N : {3, 8, 37}) {
    SCOPED_TRACE(N);
    const Constants constants{{"THREADS", 64}, {"VEC_ITEMS", 1}, {"GRID", 20}};
    Repeated launch{.ptx = product_ptx("v9", variant.macros(DType::f32, constants)), .N = N, .grid = 20};
    EXPECT_GT(launch.expect_same(), static_cast<std::uint64_t>(kM) / 2);
    launch.x_offset = 3;
    launch.y_offset = 1;
    launch.in_place = N == 8;
    EXPECT_GT(launch.expect_same(), static_cast<std::uint64_t>(kM) / 2);
  }
}

/// Walks over rows, with a barrier at the end of each. `body` may use the row, its element i and the shared a[64].
Repeated walker(const std::string& body, const std::string& before = "") {
  return {.ptx = kernel("  __shared__ float a[64];\n  a[threadIdx.x] = 0;\n  __syncthreads();\n" + before +
                        "\n  for (long long row = blockIdx.x; row < M; row += gridDim.x) {\n"
                        "    const long long i = row * N + threadIdx.x;\n"
                        "    const bool mine = threadIdx.x < N;\n" +
                        body + "\n    __syncthreads();\n  }"),
          .grid = 20};
}

constexpr const char* kShareRow = R"(
    a[threadIdx.x] = mine ? x[i] : 0;
    __syncthreads();
    if (mine) y[i] = a[threadIdx.x] + a[0] + a[1];)";

TEST(RepeatedRounds, ThatShareTheirRow) {
  EXPECT_GT(walker(kShareRow).expect_same(), static_cast<std::uint64_t>(kM) / 2);
}

TEST(RepeatedRounds, NotWhereARegisterIsCarriedOn) {
  EXPECT_EQ(walker("if (mine) { sum += x[i]; y[i] = sum; }", "float sum = 0;").expect_same(), 0u);
  EXPECT_EQ(walker("if (mine) y[i] = x[i] + count; ++count;", "int count = 0;").expect_same(), 0u)
      << "follows the round, and is part of the result";
}

TEST(RepeatedRounds, NotWhereSharedMemoryIsCarriedOn) {
  EXPECT_EQ(walker("if (mine) { a[threadIdx.x] += x[i]; y[i] = a[threadIdx.x]; }").expect_same(), 0u);
}

// Most rounds only write shared memory. Some read what the round before them has left, which was not executed.
TEST(RepeatedRounds, LeaveWhatTheyWouldHaveLeftInSharedMemory) {
  EXPECT_GT(walker(R"(
    if ((row & 127) < 20) {
      if (mine) y[i] = a[threadIdx.x] + a[63 - threadIdx.x];
    } else {
      a[threadIdx.x] = mine ? x[i] : 7;
      if (mine) y[i] = x[i];
    })")
                .expect_same(),
            0u);
}

// Behind the first barrier v is alive: it stays for some rounds, and differs from row to row later. The second one
// comes by from round 5 on, where rounds from the first are followed.
TEST(RepeatedRounds, FromAPlaceBesideOneThatWasOfUseByChance) {
  const Repeated launch = walker(R"(
    const float v = row < 800 ? 1 : x[row * N];
    __syncthreads();
    if (mine) y[i] = x[i] + v;
    if (row < 100) continue;)");
  EXPECT_GT(launch.run(true).counts.repeated, static_cast<std::uint64_t>(kM) / 2);
  EXPECT_GT(launch.expect_same(), static_cast<std::uint64_t>(kM) / 2);
}

TEST(RepeatedRounds, FaultsOfOneRow) {
  Repeated launch = walker(kShareRow);
  launch.unwritten_row = 4711;
  EXPECT_THAT(launch.run(true).error, HasSubstr("global load of 4 uninitialised bytes"));
  EXPECT_THAT(launch.run(true).error, HasSubstr("block 11, thread 0"));
  launch.expect_same();
  launch.unwritten_row.reset();
  launch.M = kM + 5;
  EXPECT_THAT(launch.run(true).error, HasSubstr("global load of 4 bytes out of bounds"));
  launch.expect_same();
}

}  // namespace
}  // namespace softmax_dispatch::sim
