// Kernels that copy in the background (sm_90): their copies arrive as late as they may, and blocks get on in any order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu/planted/mutations.hpp"
#include "sim/planted/reason.hpp"
#include "support/configs.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::sim {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

std::string reason(const Config& config, const std::vector<planted::Edit>& edits) {
  const jit::Sources sources = edits.empty()
                                   ? jit::Sources::product()
                                   : planted::mutated({"ring", config, edits, planted::Effect::fails_simulated, ""});
  return sim::reason("sm_90", registry(), sources, config);
}

class Ring : public ::testing::TestWithParam<const char*> {};

TEST_P(Ring, Verifies) {
  EXPECT_EQ(reason(parse_config(GetParam()), {}), "");
}

// Rows of more parts than there are blocks, as many as all stages hold, are among them.
INSTANTIATE_TEST_SUITE_P(Configs, Ring,
                         ::testing::Values("ring AHEAD=2 BLOCKS=1 GRID=3 STAGES=3 STREAM=0 THREADS=32 VEC_ITEMS=1",
                                           "ring f16 AHEAD=2 BLOCKS=2 GRID=4 STAGES=4 STREAM=1 THREADS=64 VEC_ITEMS=2",
                                           "ring AHEAD=1 BLOCKS=1 GRID=5 STAGES=2 STREAM=2 THREADS=64 VEC_ITEMS=1",
                                           "ring AHEAD=4 BLOCKS=1 GRID=12 STAGES=4 STREAM=1 THREADS=32 VEC_ITEMS=1",
                                           "held f16 BLOCKS=1 SHARED_ITEMS=1 STREAM=0 THREADS=32 VEC_ITEMS=1"),
                         [](const auto& one) { return test_name(parse_config(one.param)); });

constexpr char kRing[] = "ring AHEAD=2 BLOCKS=1 GRID=3 STAGES=3 STREAM=0 THREADS=64 VEC_ITEMS=1";

TEST(RingTraps, ATicketForWhichThereIsNoStageStopsAll) {
  EXPECT_THAT(
      reason(parse_config(kRing),
             {{"      // A round for each stage without tickets.\n",
               "      const unsigned early = round >= STAGES ? atomicAdd(&header_of(workspace)->next, 1) : 0;\n"},
              {"atomicAdd(&header_of(workspace)->next, 1);\n        ring", "early;\n        ring"}}),
      HasSubstr("deadlock"));
}

TEST(RingTraps, EachWaitsForTheWorkBeforeItsOwn) {
  const auto unordered = AnyOf(HasSubstr("race"), HasSubstr("uninitialised"));
  const Config config = parse_config(kRing);
  const std::string reduces =
      "      const Task& task = ring.tasks[stage];\n      if (task.slot < 0) break;\n      const float2 own";
  EXPECT_THAT(reason(config, {{"      ring.loaded[stage].wait(turn.parity);\n" + reduces, reduces}}), unordered);
  EXPECT_THAT(reason(config, {{"ring.reduced[stage].wait(turn.parity);\n        const", "const"}}), unordered);
  EXPECT_THAT(reason(config, {{"ring.reduced[stage].wait(turn.parity);\n      ring", "ring"}}), unordered);
  EXPECT_THAT(reason(config, {{"ring.merged[stage].wait(turn.parity);", ""}}), unordered);
  EXPECT_THAT(reason(config, {{"ring.written[turn.stage].wait(turn.parity ^ 1);", ""}}), unordered);
  EXPECT_THAT(reason(config, {{"written[stage].init(THREADS + kWidth)", "written[stage].init(THREADS)"}}),
              AnyOf(unordered, HasSubstr("more threads arrive"), HasSubstr("deadlock")));
  EXPECT_THAT(reason(parse_config("held BLOCKS=1 SHARED_ITEMS=2 STREAM=1 THREADS=64 VEC_ITEMS=1"),
                     {{"  wait_for_copies();\n    float highest", "  float highest"}}),
              HasSubstr("got"));
}

TEST(RingTraps, SlotsAreLookedAtUntilAllHaveTheLaunchsTag) {
  const Config config = parse_config(kRing);
  EXPECT_THAT(reason(config, {{"there = there && has_tag(ring.slots[at], tag);", ""}}), HasSubstr("got"));
  EXPECT_THAT(reason(config, {{"ring.seen.wait(parity);", ""}}),
              AnyOf(HasSubstr("race"), HasSubstr("uninitialised"), HasSubstr("more threads arrive")));
  EXPECT_THAT(reason(config, {{"if (lane_id() == 0) publish(", "if (lane_id() == 33) publish("}}),
              HasSubstr("deadlock"));
}

TEST(RingTraps, ARowThatItsStagesHaveNoRoomForGoesByElements) {
  EXPECT_THAT(reason(parse_config(kRing), {{"const bool covered = skew_of(begin) + static_cast<int>(N) <= capacity;",
                                            "const bool covered = true;"}}),
              HasSubstr("shared memory race"));
}

TEST(RingTraps, ACopyHasItsBytesNamed) {
  EXPECT_THAT(reason(parse_config(kRing), {{"loaded[stage].arm(bytes);", "loaded[stage].arm(bytes + 16);"}}),
              HasSubstr("deadlock"));
  EXPECT_THAT(reason(parse_config(kRing), {{"loaded[stage].arm(bytes);", "loaded[stage].arm(0);"}}),
              HasSubstr("does not wait for"));
}

}  // namespace
}  // namespace softmax_dispatch::sim
