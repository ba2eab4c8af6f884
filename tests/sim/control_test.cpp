// Divergence, reconvergence, and the progress that lanes of a warp make apart.
#include <gmock/gmock.h>

#include <numeric>

#include "sim/ptx_runner.hpp"

namespace softmax_dispatch::sim {
namespace {

std::vector<std::uint32_t> expected(std::uint32_t count, std::uint32_t (*of_thread)(std::uint32_t)) {
  std::vector<std::uint32_t> values(count);
  for (std::uint32_t t = 0; t < count; ++t) values[t] = of_thread(t);
  return values;
}

LaunchCounts counts_of(const std::string& body, std::uint32_t threads = 32) {
  PtxRunner runner;
  const DevicePtr out = runner.upload(std::vector<std::uint32_t>(threads));
  return runner.run(ptx_kernel(body), 1, threads, {out});
}

const char* const kIfElse = R"(
  and.b32 %r1, %t, 1;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra EVEN;
  mul.lo.u32 %r2, %t, 100;
  bra JOIN;
EVEN:
  add.u32 %r2, %t, 7;
JOIN:
  st.global.u32 [%mine], %r2;)";

TEST(Control, TwoSidesAndBackTogether) {
  EXPECT_EQ(words_of(kIfElse, 64), expected(64, [](std::uint32_t t) { return t % 2 ? t * 100 : t + 7; }));
  const LaunchCounts counts = counts_of(kIfElse);
  EXPECT_EQ(counts.of(OpClass::global_store), 1u) << "the lanes store together again";
  EXPECT_EQ(counts.diverged_branches, 1u);
  ASSERT_EQ(counts.branches.size(), 1u);
  EXPECT_EQ(counts.branches[0].executed, 1u);
  EXPECT_EQ(counts.branches[0].diverged, 1u);
  EXPECT_EQ(counts.of(OpClass::branch), 2u) << "the unconditional one is executed by one side";
}

const char* const kLoop = R"(
  mov.u32 %r1, 0;
  mov.u32 %r2, 0;
LOOP:
  setp.gt.u32 %p1, %r1, %t;
  @%p1 bra DONE;
  add.u32 %r2, %r2, %r1;
  add.u32 %r1, %r1, 1;
  bra LOOP;
DONE:
  st.global.u32 [%mine], %r2;)";

TEST(Control, LoopsOfDifferentLengths) {
  EXPECT_EQ(words_of(kLoop, 96), expected(96, [](std::uint32_t t) { return t * (t + 1) / 2; }));
  const LaunchCounts counts = counts_of(kLoop);
  EXPECT_EQ(counts.of(OpClass::global_store), 1u);
  EXPECT_EQ(counts.branches.at(0).executed, 33u) << "one for each round of the longest";
  EXPECT_EQ(counts.branches.at(0).diverged, 31u) << "in the last round all leave together, in the first nobody";
}

TEST(Control, BreakInsideNestedLoops) {
  // for (i = 0; i < 5; ++i) for (j = 0; j < 5; ++j) { if (i * 5 + j == t) goto out; ++n; } out:
  EXPECT_EQ(words_of(R"(
  mov.u32 %r1, 0;
  mov.u32 %r3, 0;
OUTER:
  mov.u32 %r2, 0;
INNER:
  mad.lo.u32 %r4, %r1, 5, %r2;
  setp.eq.u32 %p1, %r4, %t;
  @%p1 bra OUT;
  add.u32 %r3, %r3, 1;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p2, %r2, 5;
  @%p2 bra INNER;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p3, %r1, 5;
  @%p3 bra OUTER;
OUT:
  st.global.u32 [%mine], %r3;)"),
            expected(32, [](std::uint32_t t) { return std::min(t, 25u); }));
}

TEST(Control, LanesThatLeaveEarly) {
  const std::string body = R"(
  mov.u32 %r1, 5;
  st.global.u32 [%mine], %r1;
  setp.lt.u32 %p1, %t, 20;
  @%p1 exit;
  mov.u32 %r1, 6;
  st.global.u32 [%mine], %r1;
  setp.lt.u32 %p1, %t, 30;
  @!%p1 ret;
  mov.u32 %r1, 7;
  st.global.u32 [%mine], %r1;)";
  EXPECT_EQ(words_of(body, 40), expected(40, [](std::uint32_t t) { return t < 20 ? 5u : t < 30 ? 7u : 6u; }));
}

TEST(Control, GuardedInstructionsCountWhereALanePasses) {
  const LaunchCounts counts = counts_of(R"(
  setp.eq.u32 %p1, %t, 40;
  setp.eq.u32 %p2, %t, 3;
  @%p1 st.global.u32 [%mine], %t;
  @%p2 st.global.u32 [%mine], %t;
  @!%p1 st.global.u32 [%mine], %t;)",
                                        64);
  EXPECT_EQ(counts.of(OpClass::global_store), 1u + 1u + 2u);
  EXPECT_EQ(counts.bytes_store, 4u * (1 + 1 + 63));
}

TEST(Control, GuardsKeepTheOldValue) {
  EXPECT_EQ(words_of(R"(
  setp.lt.u32 %p1, %t, 10;
  mov.u32 %r1, 1;
  @%p1 mov.u32 %r1, 2;
  @%p1 setp.ge.u32 %p1|%p2, %t, 5;
  @%p1 add.u32 %r1, %r1, 10;
  st.global.u32 [%mine], %r1;)"),
            expected(32, [](std::uint32_t t) { return t < 5    ? 2u
                                                      : t < 10 ? 12u
                                                               : 1u; }));
}

// Each lane takes a lock that another lane of its warp may hold: the holder has to get on while the others spin.
TEST(Control, LanesWaitForALaneOfTheirWarp) {
  EXPECT_EQ(words_of(R"(
  .shared .align 4 .b32 lock;
  .shared .align 4 .b32 total;
  setp.ne.u32 %p1, %t, 0;
  @%p1 bra START;
  st.shared.u32 [lock], 0;
  st.shared.u32 [total], 0;
START:
  bar.sync 0;
SPIN:
  atom.shared.cas.b32 %r1, [lock], 0, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra SPIN;
  ld.volatile.shared.u32 %r2, [total];
  add.u32 %r2, %r2, %t;
  st.volatile.shared.u32 [total], %r2;
  membar.cta;
  atom.shared.exch.b32 %r1, [lock], 0;
  bar.sync 0;
  ld.shared.u32 %r2, [total];
  st.global.u32 [%mine], %r2;)",
                     64),
            std::vector<std::uint32_t>(64, 63 * 64 / 2));
}

// Both halves of the warp execute a shuffle for the whole warp, each at a place of its own.
TEST(Control, ShufflesOfLanesThatAreApart) {
  EXPECT_EQ(words_of(R"(
  setp.lt.u32 %p1, %t, 16;
  add.u32 %r1, %t, 100;
  @%p1 bra LOW;
  shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;
  add.u32 %r2, %r2, 1000;
  bra JOIN;
LOW:
  mul.lo.u32 %r1, %t, 3;
  shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;
JOIN:
  st.global.u32 [%mine], %r2;)"),
            expected(32, [](std::uint32_t t) { return t < 16 ? t + 16 + 100 : (t - 16) * 3 + 1000; }));
}

TEST(Control, WarpBarrierOrdersLanesThatAreApart) {
  EXPECT_EQ(words_of(R"(
  .shared .align 4 .b8 box[128];
  mov.u32 %r1, box;
  mad.lo.u32 %r2, %t, 4, %r1;
  xor.b32 %r3, %t, 31;
  mad.lo.u32 %r3, %r3, 4, %r1;
  setp.lt.u32 %p1, %t, 16;
  @%p1 bra LOW;
  st.shared.u32 [%r2], %t;
  bar.warp.sync -1;
  bra JOIN;
LOW:
  mul.lo.u32 %r4, %t, 2;
  st.shared.u32 [%r2], %r4;
  bar.warp.sync -1;
JOIN:
  ld.shared.u32 %r5, [%r3];
  st.global.u32 [%mine], %r5;)"),
            expected(32, [](std::uint32_t t) { return t < 16 ? 31 - t : 2 * (31 - t); }));
}

TEST(Control, ScopesHaveNamesOfTheirOwn) {
  EXPECT_EQ(words_of(R"(
  mov.u32 %r1, 1;
  { .reg .b32 %r1, own; mov.u32 %r1, 50; mov.u32 own, 2; add.u32 %r1, %r1, own;
    setp.eq.u32 %p1, %t, 0;
    @%p1 bra SKIP;
    add.u32 %r2, %r1, %t;
    SKIP:
    @%p1 mov.u32 %r2, 9;
  }
  { bra SKIP; SKIP: add.u32 %r2, %r2, %r1; }
  st.global.u32 [%mine], %r2;)"),
            expected(32, [](std::uint32_t t) { return t == 0 ? 10u : 53 + t; }));
}

TEST(Control, SpecialRegisters) {
  EXPECT_EQ(
      words_of(R"(
  mov.u32 %r1, %laneid;
  mov.u32 %r2, %warpid;
  mov.u32 %r3, %nctaid.x;
  mov.u32 %r4, %lanemask_lt;
  popc.b32 %r4, %r4;
  mad.lo.u32 %r5, %r2, 100, %r1;
  mad.lo.u32 %r5, %r3, 10000, %r5;
  mad.lo.u32 %r5, %r4, 100000, %r5;
  mov.u32 %r6, %tid.y;
  add.u32 %r5, %r5, %r6;
  mov.u32 %r6, %ntid.z;
  add.u32 %r5, %r5, %r6;
  st.global.u32 [%mine], %r5;)",
               64, 3),
      expected(192, [](std::uint32_t t) { return t % 32 + t % 64 / 32 * 100 + 3 * 10000 + t % 32 * 100000 + 1; }));
}

TEST(Control, TheClockMovesOn) {
  const auto words = words_of(R"(
  mov.u64 %rd1, %clock64;
  nanosleep.u32 100;
  mov.u64 %rd2, %clock64;
  setp.gt.u64 %p1, %rd2, %rd1;
  selp.u32 %r1, 1, 0, %p1;
  st.global.u32 [%mine], %r1;)");
  EXPECT_EQ(words, std::vector<std::uint32_t>(32, 1));
}

TEST(Control, BlocksRunInTheOrderOfTheSeed) {
  // Each block notes how many came before it.
  const auto order = [](std::uint64_t seed) {
    PtxRunner runner;
    runner.options.seed = seed;
    const DevicePtr out = runner.upload(std::vector<std::uint32_t>(65));
    runner.run(ptx_kernel(R"(
  atom.global.add.u32 %r1, [%out+256], 1;
  st.global.u32 [%mine], %r1;)"),
               64, 1, {out});
    return runner.download<std::uint32_t>(out, 64);
  };
  std::vector<std::uint32_t> ascending(64);
  std::iota(ascending.begin(), ascending.end(), 0);
  EXPECT_THAT(order(1), testing::UnorderedElementsAreArray(ascending));
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
  EXPECT_NE(order(1), ascending);
}

}  // namespace
}  // namespace softmax_dispatch::sim
