#include "dispatch/rule.hpp"

#include <gmock/gmock.h>

#include "dispatch/decisions.hpp"
#include "unit/dispatch/fixture.hpp"

namespace softmax_dispatch::testing {
namespace {

class Rule : public ::testing::TestWithParam<std::string> {
 protected:
  Target target_{arch_limits(GetParam()), 0};
  table::Table table_ = runtime::rule_based_table(target_);

  const table::Kernel& choice(const Problem& problem) const {
    return *table::lookup(table_, problem, table::Alignment::unaligned).kernel;
  }
};

TEST_P(Rule, EveryChoiceServesItsShapesWithinTheAccuracyRule) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (std::int64_t N = 1; N <= std::int64_t{1} << 40; N = N < 40000 ? N + 1 : 2 * N) {
      for (const std::int64_t M : {std::int64_t{1}, std::int64_t{1} << 20}) {
        const Problem problem{dtype, M, N};
        const Config& config = choice(problem).config;
        const Variant& variant = registry().at(config.variant);
        const Support support = variant.supports(problem, config.constants, target_);
        ASSERT_EQ(config.dtype, dtype) << to_string(config);
        ASSERT_TRUE(support) << to_string(problem) << ' ' << to_string(config) << ": " << support.reason;
        ASSERT_GE(variant.accurate_N(problem.dtype, config.constants), N) << to_string(config);
        ASSERT_TRUE(variant.selectable()) << to_string(config);
      }
    }
  }
}

TEST_P(Rule, ShortRowsGoToLanesMiddleOnesToABlockLongOnesToTheUnboundedVariant) {
  EXPECT_EQ(choice({DType::f32, 1000, 64}).config,
            parse_config("lanes LANES=16 ROWS=1 STREAM=1 THREADS=128 VEC_ITEMS=2"));
  EXPECT_EQ(choice({DType::f32, 1000, 131}).config,
            parse_config("lanes LANES=16 ROWS=1 STREAM=1 THREADS=128 VEC_ITEMS=2"));
  EXPECT_EQ(choice({DType::f32, 1000, 132}).config,
            parse_config("lanes LANES=32 ROWS=1 STREAM=1 THREADS=128 VEC_ITEMS=2"));
  const auto held = [&](std::int64_t N) {
    const Config config = choice({DType::f32, 1000, N}).config;
    EXPECT_EQ(config.variant, "held") << N;
    return std::pair(config.constants.at("THREADS"), config.constants.at("VEC_ITEMS"));
  };
  EXPECT_EQ(held(4096), std::pair(std::int64_t{256}, std::int64_t{4}));
  EXPECT_EQ(held(16387), std::pair(std::int64_t{1024}, std::int64_t{4}));
  EXPECT_EQ(choice({DType::f32, 1, 1 << 20}).config.variant, unbounded_variant().id());
}

TEST_P(Rule, NoKernelPassesForVerified) {
  for (const table::Kernel& kernel : table_.kernels) EXPECT_FALSE(kernel.verification) << kernel.name;
  EXPECT_NO_THROW(runtime::Decisions::from_table(table_, target_));
}

TEST_P(Rule, LeavesWhatATableSaysAndAddsTheOtherTypes) {
  table::Table table = table_;
  std::erase_if(table.tables, [](const table::OpTable& op) { return op.dtype == DType::f16; });
  // A person's pin for a type without thresholds names the rule's own kernel.
  const std::string pinned = choice({DType::f16, 1, 1 << 30}).name;
  table.pins.push_back({.dtype = DType::f16, .N_from = 7, .N_to = 7, .use = pinned});
  std::erase_if(table.kernels, [&](const table::Kernel& kernel) {
    return kernel.config.dtype == DType::f16 && kernel.name != pinned;
  });
  const table::Table before = table;
  runtime::add_rule(table, target_);
  EXPECT_TRUE(std::equal(before.tables.begin(), before.tables.end(), table.tables.begin()));
  EXPECT_NO_THROW(table::validate(table, [](std::string_view id) { return registry().find(id) != nullptr; }));
  for (const std::int64_t N : {1, 100, 1000, 1 << 20})
    EXPECT_EQ(table::lookup(table, {DType::f16, 5, N}, table::Alignment::unaligned).kernel->name,
              choice({DType::f16, 5, N}).name);
}

INSTANTIATE_TEST_SUITE_P(EveryArch, Rule, ::testing::ValuesIn(known_archs()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace softmax_dispatch::testing
