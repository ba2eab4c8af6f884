#include "dispatch/decisions.hpp"

#include <gmock/gmock.h>

#include <random>

#include "unit/dispatch/fixture.hpp"

namespace softmax_dispatch::testing {
namespace {

using runtime::Candidate;
using runtime::Decisions;
using ::testing::ElementsAre;

Target sm_90() {
  return {arch_limits("sm_90"), 8};
}

std::vector<std::string> order(const Decisions& decisions, const Problem& problem, table::Alignment alignment) {
  std::vector<std::string> result;
  decisions.visit(problem, alignment, [&](int index) {
    result.push_back(to_string(decisions.candidates()[static_cast<std::size_t>(index)].config));
    return false;
  });
  return result;
}

/// A table with random bands and thresholds in both alignment classes, all of whose kernels serve every shape drawn
/// here.
table::Table random_table(std::mt19937& random) {
  const std::vector<std::string> configs{"v5 THREADS=128", "v5 THREADS=256", "v2 THREADS=512", "unbounded THREADS=128"};
  Thresholds thresholds;
  for (const std::string& config : configs) thresholds.emplace_back(table::kOpen, config);
  table::Table table = make_table(thresholds);
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  const auto any_kernel = [&] { return table.kernels[static_cast<std::size_t>(draw(0, 3))].name; };
  std::vector<table::Band>& bands = table.tables[0].bands;
  bands.clear();
  std::int64_t M_from = 1;
  for (std::int64_t left = draw(1, 4); left > 0; --left) {
    table::Band& band = bands.emplace_back();
    band.M_from = M_from;
    band.M_to = left == 1 ? table::kOpen : M_from + draw(0, 5);
    M_from = band.M_to == table::kOpen ? M_from : band.M_to + 1;
    for (const auto alignment : {table::Alignment::aligned, table::Alignment::unaligned}) {
      std::int64_t N_to = 0;
      for (std::int64_t steps = draw(1, 4); steps > 0; --steps) {
        N_to += draw(1, 6);
        table::Threshold& threshold = band.thresholds.emplace_back();
        threshold.N_to = steps == 1 ? table::kOpen : N_to;
        threshold.alignment = alignment;
        threshold.use = any_kernel();
      }
    }
  }
  for (std::int64_t count = draw(0, 2); count > 0; --count) {
    table::Pin& pin = table.pins.emplace_back();
    pin.M_from = draw(1, 12);
    pin.M_to = pin.M_from + draw(0, 3);
    pin.N_from = draw(1, 12);
    pin.N_to = pin.N_from + draw(0, 3);
    pin.use = any_kernel();
  }
  return table;
}

TEST(Decisions, FirstChoiceIsTheOneOfTheTable) {
  std::mt19937 random(42);
  for (int round = 0; round < 200; ++round) {
    const table::Table table = random_table(random);
    const Decisions decisions = Decisions::from_table(table, sm_90());
    for (std::int64_t M = 1; M <= 16; ++M) {
      for (std::int64_t N = 1; N <= 16; ++N) {
        for (const auto alignment : {table::Alignment::aligned, table::Alignment::unaligned}) {
          const Problem problem{DType::f32, M, N};
          const table::Choice expected = table::lookup(table, problem, alignment);
          ASSERT_NE(expected.kernel, nullptr);
          ASSERT_EQ(order(decisions, problem, alignment).front(), to_string(expected.kernel->config))
              << to_string(problem) << '\n'
              << table::write(table);
        }
      }
    }
  }
}

TEST(Decisions, KernelsThatTakeOverAreOrderedByReach) {
  const Decisions decisions = Decisions::from_table(
      make_table({{131, kShort}, {4099, kMiddle}, {8195, "v7 THREADS=512 VEC_ITEMS=4"}, {table::kOpen, kLong}}),
      sm_90());
  EXPECT_THAT(order(decisions, {DType::f32, 1, 100}, table::Alignment::aligned),
              ElementsAre(kShort, kMiddle, "v7 THREADS=512 VEC_ITEMS=4", kLong));
  EXPECT_THAT(order(decisions, {DType::f32, 1, 8195}, table::Alignment::aligned),
              ElementsAre("v7 THREADS=512 VEC_ITEMS=4", kLong));
  EXPECT_THAT(order(decisions, {DType::f32, 1, 8196}, table::Alignment::aligned), ElementsAre(kLong));
}

TEST(Decisions, MoreRowsThanAGridHasBlocksGoToAKernelThatWalks) {
  const Decisions decisions = Decisions::from_table(make_table({{4099, kMiddle}, {table::kOpen, kLong}}), sm_90());
  const std::int64_t most = (std::int64_t{1} << 31) - 1;
  EXPECT_THAT(order(decisions, {DType::f32, most, 8}, table::Alignment::aligned), ElementsAre(kMiddle, kLong));
  EXPECT_THAT(order(decisions, {DType::f32, most + 1, 8}, table::Alignment::aligned), ElementsAre(kLong));
}

TEST(Decisions, MostRowsAreWhatTheVariantSupports) {
  const Target target = sm_90();
  for (const Variant* variant : registry().all()) {
    if (!variant->selectable()) continue;
    const Config config{std::string(variant->id()), variant->complete({DType::f32, 1, 100}, {}, target)};
    const Decisions decisions = Decisions::forced({config}, target);
    ASSERT_EQ(decisions.candidates().size(), 1u);
    const Candidate& candidate = decisions.candidates()[0];
    const auto supports = [&](std::int64_t M) {
      return static_cast<bool>(variant->supports({DType::f32, M, 1}, config.constants, target));
    };
    EXPECT_TRUE(supports(candidate.max_M)) << to_string(config);
    EXPECT_TRUE(candidate.max_M == kUnbounded || !supports(candidate.max_M + 1)) << to_string(config);
  }
}

TEST(Decisions, TableKernelsThatMustNotBeDispatchedAreRefused) {
  const auto message_of = [](const std::string& config) {
    return error_of(StatusCode::bad_table, [&] {
      Decisions::from_table(make_table({{table::kOpen, config}}), sm_90());
    });
  };
  EXPECT_THAT(message_of("v4_branchy THREADS=256"), ::testing::HasSubstr("control"));
  EXPECT_THAT(message_of("v7 THREADS=1024 VEC_ITEMS=32"), ::testing::HasSubstr("registers"));
  EXPECT_THAT(message_of("v7 THREADS=100 VEC_ITEMS=1"), ::testing::HasSubstr("THREADS"));
}

/// A table of a GPU with 132 SMs on one of the architecture with 8, as a part of such a GPU has.
TEST(Decisions, KernelsForMoreMultiprocessorsGiveWayToOthers) {
  constexpr char kTogether[] = "split BLOCKS=1 GRID=132 PARTS=32 SHARED_ITEMS=0 STREAM=1 THREADS=1024 VEC_ITEMS=2";
  constexpr char kAlone[] = "held BLOCKS=1 SHARED_ITEMS=0 STREAM=1 THREADS=1024 VEC_ITEMS=8";
  table::Table table = make_table({{4096, kAlone}, {table::kOpen, kTogether}});
  table.device.sm_count = 132;
  const Problem problem{DType::f32, 4, 8192};
  const Decisions there = Decisions::from_table(table, {arch_limits("sm_90"), 132});
  EXPECT_EQ(order(there, problem, table::Alignment::aligned).front(), kTogether);
  const auto here = order(Decisions::from_table(table, sm_90()), problem, table::Alignment::aligned);
  EXPECT_THAT(here, ::testing::Not(::testing::Contains(kTogether)));
  EXPECT_EQ(here.front(), kAlone);
  table.device.sm_count = 8;
  EXPECT_THAT(error_of(StatusCode::bad_table, [&] { Decisions::from_table(table, sm_90()); }),
              ::testing::HasSubstr("GRID=132"))
      << "it can't have been measured there";
}

}  // namespace
}  // namespace softmax_dispatch::testing
