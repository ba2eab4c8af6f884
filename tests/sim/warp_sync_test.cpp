// Shuffles, votes and matches, by what they mean in CUDA.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <bit>
#include <functional>

#include "sim/ptx_runner.hpp"

namespace softmax_dispatch::sim {
namespace {

std::vector<std::uint32_t> of_lanes(const std::function<std::uint32_t(int)>& f) {
  std::vector<std::uint32_t> values;
  for (int lane = 0; lane < 32; ++lane) values.push_back(f(lane));
  return values;
}

/// A shuffle of lane * 3 + 5 within segments of `width` lanes; where the lane is out of range 1000 is added.
std::vector<std::uint32_t> shuffle(const std::string& mode, int b, int width) {
  const int clamp = mode == "up" ? 0 : 31;
  return words_of(fmt::format(R"(
  mad.lo.u32 %r1, %t, 3, 5;
  shfl.sync.{}.b32 %r2|%p1, %r1, {}, {}, 0xffffffff;
  selp.u32 %r3, 0, 1000, %p1;
  add.u32 %r2, %r2, %r3;
  st.global.u32 [%mine], %r2;)",
                              mode, b, (32 - width) << 8 | clamp));
}

std::vector<std::uint32_t> shuffled(const std::function<int(int)>& from) {
  return of_lanes([&](int lane) {
    const int source = from(lane);
    return static_cast<std::uint32_t>((source < 0 ? lane : source) * 3 + 5 + (source < 0 ? 1000 : 0));
  });
}

TEST(WarpSync, ShufflesWithinSegments) {
  for (const int width : {32, 16, 8, 4, 2}) {
    for (const int b : {0, 1, 2, 3, 5, 8, 16, 31}) {
      SCOPED_TRACE(fmt::format("width {} by {}", width, b));
      EXPECT_EQ(shuffle("up", b, width), shuffled([&](int lane) { return lane % width >= b ? lane - b : -1; }));
      EXPECT_EQ(shuffle("down", b, width),
                shuffled([&](int lane) { return lane % width + b < width ? lane + b : -1; }));
      EXPECT_EQ(shuffle("idx", b, width), shuffled([&](int lane) { return lane / width * width + b % width; }));
      if (b < width) {
        EXPECT_EQ(shuffle("bfly", b, width), shuffled([&](int lane) { return lane ^ b; }));
      }
    }
  }
}

TEST(WarpSync, ShuffleByAnIndexOfEachLane) {
  EXPECT_EQ(words_of(R"(
  mul.lo.u32 %r1, %t, 7;
  mad.lo.u32 %r2, %t, 5, 3;
  shfl.sync.idx.b32 %r3, %r1, %r2, 31, -1;
  st.global.u32 [%mine], %r3;)"),
            of_lanes([](int lane) { return static_cast<std::uint32_t>((lane * 5 + 3) % 32 * 7); }));
}

TEST(WarpSync, ShuffleWithinAPartOfTheWarp) {
  // Lanes 0 .. 7 alone; the others are somewhere else.
  EXPECT_EQ(words_of(R"(
  mov.u32 %r2, 77;
  setp.ge.u32 %p1, %t, 8;
  @%p1 bra REST;
  shfl.sync.down.b32 %r2, %t, 1, 6175, 0xff;
REST:
  st.global.u32 [%mine], %r2;)"),
            of_lanes([](int lane) { return lane < 7    ? static_cast<std::uint32_t>(lane + 1)
                                           : lane == 7 ? 7u
                                                       : 77u; }));
}

TEST(WarpSync, Votes) {
  const auto vote = [](const std::string& instruction, const std::string& condition) {
    return words_of("  setp." + condition + ";\n  " + instruction + "\n  st.global.u32 [%mine], %r1;");
  };
  const auto flag = [&](const std::string& mode, const std::string& condition) {
    return vote("vote.sync." + mode + ".pred %p2, %p1, -1; selp.u32 %r1, 1, 0, %p2;", condition).at(9);
  };
  const std::string none = "gt.u32 %p1, %t, 99", some = "gt.u32 %p1, %t, 20", all = "lt.u32 %p1, %t, 99";
  EXPECT_EQ(flag("all", none), 0u);
  EXPECT_EQ(flag("all", some), 0u);
  EXPECT_EQ(flag("all", all), 1u);
  EXPECT_EQ(flag("any", none), 0u);
  EXPECT_EQ(flag("any", some), 1u);
  EXPECT_EQ(flag("any", all), 1u);
  EXPECT_EQ(flag("uni", none), 1u);
  EXPECT_EQ(flag("uni", some), 0u);
  EXPECT_EQ(flag("uni", all), 1u);
  EXPECT_EQ(vote("vote.sync.ballot.b32 %r1, %p1, -1;", "gt.u32 %p1, %t, 20").at(0), 0xffffffffu << 21);
  EXPECT_EQ(vote("vote.sync.ballot.b32 %r1, !%p1, -1;", "gt.u32 %p1, %t, 20").at(31), ~(0xffffffffu << 21));
}

TEST(WarpSync, MatchesOfValues) {
  EXPECT_EQ(words_of(R"(
  rem.u32 %r1, %t, 5;
  match.any.sync.b32 %r2, %r1, -1;
  st.global.u32 [%mine], %r2;)"),
            of_lanes([](int lane) {
              std::uint32_t mask = 0;
              for (int other = lane % 5; other < 32; other += 5) mask |= 1u << other;
              return mask;
            }));
  EXPECT_EQ(words_of(R"(
  cvt.u64.u32 %rd1, %t;
  shr.u64 %rd1, %rd1, 10;
  match.all.sync.b64 %r2|%p1, %rd1, -1;
  selp.u32 %r3, %r2, 0, %p1;
  st.global.u32 [%mine], %r3;)"),
            std::vector<std::uint32_t>(32, 0xffffffff));
  EXPECT_EQ(words_of("match.all.sync.b32 %r2|%p1, %t, -1;\n st.global.u32 [%mine], %r2;"),
            std::vector<std::uint32_t>(32, 0));
}

// The lanes of each group go on with a mask of their own, in one instruction.
TEST(WarpSync, GroupsOfOneWarp) {
  EXPECT_EQ(words_of(R"(
  rem.u32 %r1, %t, 3;
  match.any.sync.b32 %r2, %r1, -1;
  setp.gt.u32 %p1, %t, 15;
  vote.sync.ballot.b32 %r3, %p1, %r2;
  popc.b32 %r3, %r3;
  st.global.u32 [%mine], %r3;)"),
            of_lanes([](int lane) {
              std::uint32_t count = 0;
              for (int other = 16; other < 32; ++other) count += other % 3 == lane % 3;
              return count;
            }));
}

TEST(WarpSync, ActiveLanes) {
  EXPECT_EQ(words_of(R"(
  setp.lt.u32 %p1, %t, 11;
  mov.u32 %r1, 0;
  @%p1 bra LOW;
  activemask.b32 %r1;
LOW:
  st.global.u32 [%mine], %r1;)"),
            of_lanes([](int lane) { return lane < 11 ? 0 : 0xffffffffu << 11; }));
}

TEST(WarpSync, LanesThatHaveFinishedAreNotWaitedFor) {
  EXPECT_EQ(words_of(R"(
  st.global.u32 [%mine], 3;
  setp.lt.u32 %p1, %t, 4;
  @%p1 exit;
  setp.ge.u32 %p1, %t, 30;
  vote.sync.ballot.b32 %r1, %p1, -1;
  st.global.u32 [%mine], %r1;)"),
            of_lanes([](int lane) { return lane < 4 ? 3 : 0xc0000000u; }));
}

TEST(Barriers, OfAllThreadsAndOfSome) {
  // Two warps hand a value to the other two through a named barrier of 128 threads, arriving without waiting.
  const auto words = words_of(R"(
  .shared .align 4 .b8 box[256];
  mov.u32 %r1, box;
  and.b32 %r2, %t, 63;
  mad.lo.u32 %r1, %r2, 4, %r1;
  setp.ge.u32 %p1, %t, 64;
  @%p1 bra CONSUMER;
  mul.lo.u32 %r3, %t, 11;
  st.shared.u32 [%r1], %r3;
  bar.arrive 3, 128;
  st.global.u32 [%mine], 1;
  bra DONE;
CONSUMER:
  bar.sync 3, 128;
  ld.shared.u32 %r3, [%r1];
  st.global.u32 [%mine], %r3;
DONE:
  bar.sync 0;)",
                              128);
  for (std::uint32_t t = 0; t < 128; ++t) EXPECT_EQ(words[t], t < 64 ? 1 : (t - 64) * 11) << t;
}

TEST(Barriers, Reductions) {
  const auto reduce = [](const std::string& instruction) {
    return words_of("  setp.lt.u32 %p1, %t, 50;\n" + instruction + "\n  st.global.u32 [%mine], %r1;", 96);
  };
  EXPECT_EQ(reduce("bar.red.popc.u32 %r1, 0, %p1;"), std::vector<std::uint32_t>(96, 50));
  EXPECT_EQ(reduce("bar.red.popc.u32 %r1, 0, !%p1;"), std::vector<std::uint32_t>(96, 46));
  EXPECT_EQ(reduce("bar.red.and.pred %p2, 0, %p1; selp.u32 %r1, 1, 0, %p2;"), std::vector<std::uint32_t>(96, 0));
  EXPECT_EQ(reduce("bar.red.or.pred %p2, 0, 96, %p1; selp.u32 %r1, 1, 0, %p2;"), std::vector<std::uint32_t>(96, 1));
}

TEST(Barriers, LanesOfAWarpMayComeOneAfterTheOther) {
  const auto words = words_of(R"(
  .shared .align 4 .b8 box[256];
  mov.u32 %r1, box;
  mad.lo.u32 %r2, %t, 4, %r1;
  st.shared.u32 [%r2], %t;
  and.b32 %r3, %t, 1;
  setp.eq.u32 %p1, %r3, 0;
  @%p1 bra EVEN;
  add.u32 %r4, %t, 1;
  barrier.sync 0;
  bra JOIN;
EVEN:
  add.u32 %r4, %t, 2;
  barrier.sync 0;
JOIN:
  and.b32 %r4, %r4, 63;
  mad.lo.u32 %r2, %r4, 4, %r1;
  ld.shared.u32 %r5, [%r2];
  st.global.u32 [%mine], %r5;)",
                              64);
  for (std::uint32_t t = 0; t < 64; ++t) EXPECT_EQ(words[t], (t % 2 ? t + 1 : t + 2) % 64) << t;
}

}  // namespace
}  // namespace softmax_dispatch::sim
