#include "tuning/sweep.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/dtype.hpp"
#include "support/expect_error.hpp"
#include "tuning/candidates.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::tuning {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

constexpr std::string_view kText = R"(
M: [1, 10, 100]
N: [8, 64, 65]
max_elements: 640
axes: {THREADS: [64, 128], ITEMS: [1, 2]}
rescanning: {THREADS: [256]}
max_launches: 64
race_factor: 2
screen_replays: 3
finalist_factor: 1.2
final_replays: 7
)";

TEST(ParseSweep, ReadsEveryField) {
  const Sweep sweep = parse_sweep(kText, "mine");
  EXPECT_EQ(sweep.name, "mine");
  EXPECT_THAT(sweep.M, ElementsAre(1, 10, 100));
  EXPECT_THAT(sweep.N, ElementsAre(8, 64, 65));
  EXPECT_EQ(sweep.max_elements, 640);
  EXPECT_EQ(sweep.max_launches, 64);
  EXPECT_EQ(sweep.race_factor, 2);
  EXPECT_EQ(sweep.screen_replays, 3);
  EXPECT_EQ(sweep.finalist_factor, 1.2);
  EXPECT_EQ(sweep.final_replays, 7);
}

TEST(ParseSweep, VariantsThatReadARowAgainHaveTheirOwnValues) {
  const Sweep sweep = parse_sweep(kText, "mine");
  EXPECT_THAT(sweep.ladders(registry().at("v5")).at("THREADS"), ElementsAre(256));
  EXPECT_THAT(sweep.ladders(registry().at("v5")).at("ITEMS"), ElementsAre(1, 2));
  EXPECT_THAT(sweep.ladders(registry().at("v3")).at("THREADS"), ElementsAre(64, 128));
}

TEST(ParseSweep, RefusesWhatIsNoSweep) {
  const auto with = [](std::string from, std::string to) {
    std::string text(kText);
    return text.replace(text.find(from), from.size(), to);
  };
  for (const std::string& text :
       {with("M: [1, 10, 100]", "M: [10, 1]"), with("M: [1, 10, 100]", "M: []"), with("N: [8,", "N: [0,"),
        with("max_elements: 640", "max_elements: 0"), with("race_factor: 2", "race_factor: 0.5"),
        with("final_replays: 7", "finals: 7"), with("final_replays: 7", "")})
    EXPECT_THAT(error_of(StatusCode::bad_table, [&] { parse_sweep(text, "mine"); }), HasSubstr("sweep mine")) << text;
}

TEST(Shapes, StayBelowTheMostElements) {
  const auto all = shapes(parse_sweep(kText, "mine"), DType::f32);
  EXPECT_THAT(all, ElementsAre(Problem{DType::f32, 1, 8}, Problem{DType::f32, 10, 8}, Problem{DType::f32, 1, 64},
                               Problem{DType::f32, 10, 64}, Problem{DType::f32, 1, 65}));
}

TEST(Restrict, KeepsTheGridInsideOrTakesTheEnds) {
  const Sweep sweep = parse_sweep(kText, "mine");
  EXPECT_THAT(restrict(sweep, Range{2, 100}, {}).M, ElementsAre(10, 100));
  EXPECT_THAT(restrict(sweep, Range{2, 100}, {}).N, ElementsAre(8, 64, 65));
  EXPECT_THAT(restrict(sweep, {}, Range{9, 63}).N, ElementsAre(9, 63));
  EXPECT_THAT(restrict(sweep, {}, Range{9, 9}).N, ElementsAre(9));
  EXPECT_THAT(error_of(StatusCode::invalid_argument, [&] { restrict(sweep, Range{0, 5}, {}); }), HasSubstr("0:5"));
  EXPECT_THAT(error_of(StatusCode::invalid_argument, [&] { restrict(sweep, {}, Range{6, 5}); }), HasSubstr("6:5"));
}

TEST(LoadSweep, EveryEffortHasWhatATuneNeeds) {
  for (const char* name : {"quick", "standard", "full"}) {
    const Sweep sweep = load_sweep(name);
    const auto aligned = [](std::int64_t N) { return N % 4 == 0; };
    EXPECT_TRUE(std::any_of(sweep.N.begin(), sweep.N.end(), aligned)) << name;
    EXPECT_FALSE(std::all_of(sweep.N.begin(), sweep.N.end(), aligned)) << name;
    const Target target{arch_limits("sm_75"), 40};
    for (const Variant* variant : registry().all())
      for (const DType dtype : variant->dtypes())
        EXPECT_EQ(variant->enumerate(dtype, sweep.ladders(*variant), target).empty(), !variant->exists(target.limits))
            << name << " " << variant->id() << " " << to_string(dtype);
  }
  EXPECT_THAT(error_of(StatusCode::invalid_argument, [] { load_sweep("slow"); }), HasSubstr("quick"));
}

TEST(LoadSweep, TriesAFewHundredConfigurationsOfEachType) {
  const auto count = [](const char* name, DType dtype, const Target& target) {
    const Sweep sweep = load_sweep(name);
    std::vector<Config> configs = sweep_configs(sweep, registry(), target, dtype);
    keep_candidates(configs, shapes(sweep, dtype), registry(), target);
    return configs.size();
  };
  for (const Target& target : {Target{arch_limits("sm_75"), 40}, Target{arch_limits("sm_90"), 132}}) {
    for (const DType dtype : kDTypes) {
      const bool f32 = dtype == DType::f32;  // which has kernels of its own
      EXPECT_LE(count("quick", dtype, target), f32 ? 300U : 250U) << to_string(dtype) << ' ' << target.limits.arch;
      EXPECT_LE(count("standard", dtype, target), f32 ? 490U : 420U) << to_string(dtype) << ' ' << target.limits.arch;
    }
  }
}

}  // namespace
}  // namespace softmax_dispatch::tuning
