// Kernels that copy in the background (sm_90): their copies arrive as late as they may, and blocks get on in any order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "gpu/planted/mutations.hpp"
#include "sim/planted/reason.hpp"
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
                         ::testing::Values("ring BLOCKS=1 GRID=3 LAG=1 STAGES=3 STREAM=0 THREADS=32 VEC_ITEMS=1",
                                           "ring f16 BLOCKS=2 GRID=4 LAG=2 STAGES=4 STREAM=1 THREADS=64 VEC_ITEMS=2",
                                           "ring BLOCKS=1 GRID=12 LAG=1 STAGES=4 STREAM=1 THREADS=32 VEC_ITEMS=1",
                                           "held f16 BLOCKS=1 SHARED_ITEMS=1 STREAM=0 THREADS=32 VEC_ITEMS=1"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::replace_if(
                               name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

constexpr char kRing[] = "ring BLOCKS=1 GRID=3 LAG=1 STAGES=3 STREAM=0 THREADS=64 VEC_ITEMS=1";

TEST(RingTraps, ABlockThatWaitsForPartsThatItHasNotPublishedStopsAll) {
  const Config config = parse_config(kRing);
  EXPECT_THAT(reason(config, {{"while (reduces && early < kAhead &&", "while (false && early < kAhead &&"}}),
              HasSubstr("deadlock"));
  EXPECT_THAT(reason(config, {{"taken = writes && row_slot == old.row_slot ? 0 : 1;", "taken = 1;"}}),
              HasSubstr("deadlock"));
}

TEST(RingTraps, WhoDoesNotWaitSeesNoCopy) {
  const auto unordered = AnyOf(HasSubstr("race"), HasSubstr("uninitialised"));
  EXPECT_THAT(reason(parse_config(kRing), {{"ring.loaded[stage].wait(parity);", ""}}), unordered);
  EXPECT_THAT(reason(parse_config(kRing), {{"wait(next < STAGES ? parity : parity ^ 1);", "wait(parity ^ 1);"}}),
              unordered);
  EXPECT_THAT(reason(parse_config("held BLOCKS=1 SHARED_ITEMS=2 STREAM=1 THREADS=64 VEC_ITEMS=1"),
                     {{"  wait_for_copies();\n    float highest", "  float highest"}}),
              HasSubstr("got"));
}

TEST(RingTraps, AStageIsFilledWhenAllHaveWrittenIt) {
  EXPECT_THAT(reason(parse_config(kRing), {{"__syncthreads();  // and everyone has written", "__syncwarp();  // and"}}),
              HasSubstr("race"));
}

TEST(RingTraps, ACopyHasItsBytesNamed) {
  EXPECT_THAT(reason(parse_config(kRing), {{"loaded[stage].arm(bytes);", "loaded[stage].arm(bytes + 16);"}}),
              HasSubstr("deadlock"));
  EXPECT_THAT(reason(parse_config(kRing), {{"loaded[stage].arm(bytes);", "loaded[stage].arm(0);"}}),
              HasSubstr("does not wait for"));
}

}  // namespace
}  // namespace softmax_dispatch::sim
