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
  for (std::int64_t N = 1; N <= std::int64_t{1} << 40; N = N < 40000 ? N + 1 : 2 * N) {
    for (const std::int64_t M : {std::int64_t{1}, std::int64_t{1} << 20}) {
      const Problem problem{DType::f32, M, N};
      const Config& config = choice(problem).config;
      const Variant& variant = registry().at(config.variant);
      const Support support = variant.supports(problem, config.constants, target_);
      ASSERT_TRUE(support) << to_string(problem) << ' ' << to_string(config) << ": " << support.reason;
      ASSERT_GE(variant.accurate_N(problem.dtype, config.constants), N) << to_string(config);
      ASSERT_TRUE(variant.selectable()) << to_string(config);
    }
  }
}

TEST_P(Rule, ShortRowsGoToAWarpMiddleOnesToRegistersLongOnesToTheUnboundedVariant) {
  EXPECT_EQ(choice({DType::f32, 1000, 64}).config, parse_config("v10 THREADS=128 VEC_ITEMS=1"));
  EXPECT_EQ(choice({DType::f32, 1000, 131}).config, parse_config("v10 THREADS=128 VEC_ITEMS=1"));
  EXPECT_EQ(choice({DType::f32, 1000, 132}).config, parse_config("v10 THREADS=128 VEC_ITEMS=2"));
  EXPECT_EQ(choice({DType::f32, 1000, 4096}).config, parse_config("v7 THREADS=256 VEC_ITEMS=4"));
  EXPECT_EQ(choice({DType::f32, 1000, 16387}).config, parse_config("v7 THREADS=1024 VEC_ITEMS=4"));
  EXPECT_EQ(choice({DType::f32, 1, 1 << 20}).config.variant, unbounded_variant().id());
}

TEST_P(Rule, NoKernelPassesForVerified) {
  for (const table::Kernel& kernel : table_.kernels) EXPECT_FALSE(kernel.verification) << kernel.name;
  EXPECT_NO_THROW(runtime::Decisions::from_table(table_, target_));
}

INSTANTIATE_TEST_SUITE_P(EveryArch, Rule, ::testing::ValuesIn(known_archs()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace softmax_dispatch::testing
