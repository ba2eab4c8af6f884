#include "support/config.hpp"

#include <gmock/gmock.h>

#include "support/decimal_comma.hpp"
#include "support/expect_error.hpp"

namespace softmax_dispatch {
namespace {

using ::testing::HasSubstr;

TEST(ConfigText, IsCanonicalAndReadsBack) {
  const Config config = parse_config("v7  VEC_ITEMS=4 THREADS=256 ");
  EXPECT_EQ(config.variant, "v7");
  EXPECT_EQ(config.constants, (Constants{{"THREADS", 256}, {"VEC_ITEMS", 4}}));
  EXPECT_EQ(to_string(config), "v7 THREADS=256 VEC_ITEMS=4");
  EXPECT_EQ(parse_config(to_string(config)), config);
  EXPECT_EQ(to_string(parse_config("v4_opt")), "v4_opt");
  EXPECT_EQ(to_string(config.constants), "THREADS=256 VEC_ITEMS=4");
}

TEST(ConfigText, NamesATypeThatIsNotF32AfterTheId) {
  const Config config = parse_config("unbounded bf16 THREADS=256");
  EXPECT_EQ(config.dtype, DType::bf16);
  EXPECT_EQ(to_string(config), "unbounded bf16 THREADS=256");
  EXPECT_EQ(to_string(Config{"unbounded", {}, DType::f16}), "unbounded f16");
  EXPECT_EQ(parse_config("unbounded f32 THREADS=256"), parse_config("unbounded THREADS=256"));
  EXPECT_NE(config, parse_config("unbounded THREADS=256"));
  for (const char* text : {"v7 f64 THREADS=256", "v7 THREADS=256 f16", "v7 f16 bf16"})
    EXPECT_THAT(testing::error_of(StatusCode::invalid_argument, [&] { parse_config(text); }), HasSubstr("NAME=value"))
        << text;
}

TEST(MacrosText, EndsWithTheType) {
  EXPECT_EQ(to_string(Macros(Constants{{"THREADS", 256}}, DType::f16)), "THREADS=256 TYPE=f16");
  EXPECT_EQ(to_string(Macros({}, DType::f32)), "TYPE=f32");
  EXPECT_EQ(to_string(Macros(Constants{{"THREADS", 256}})), "THREADS=256");
}

TEST(ConfigText, DoesNotFollowTheLocale) {
  const testing::DecimalComma comma;
  EXPECT_EQ(to_string(Config{"v9", {{"GRID", 123456}}}), "v9 GRID=123456");
}

TEST(ConfigText, RefusesEverythingElseWithTheReason) {
  const auto message = [](const char* text) {
    return testing::error_of(StatusCode::invalid_argument, [&] { parse_config(text); });
  };
  EXPECT_THAT(message(""), HasSubstr("no variant id"));
  EXPECT_THAT(message("THREADS=256"), HasSubstr("'THREADS=256' is no variant id"));
  EXPECT_THAT(message("v7,THREADS=256"), HasSubstr("no variant id"));
  EXPECT_THAT(message("v7 THREADS"), HasSubstr("'THREADS' is not of the form NAME=value"));
  EXPECT_THAT(message("v7 threads=256"), HasSubstr("capitals"));
  EXPECT_THAT(message("v7 =256"), HasSubstr("NAME=value"));
  EXPECT_THAT(message("v7 THREADS=2,5"), HasSubstr("the value of THREADS in 'THREADS=2,5' is no integer"));
  EXPECT_THAT(message("v7 THREADS="), HasSubstr("no integer"));
  EXPECT_THAT(message("v7 THREADS=256 THREADS=256"), HasSubstr("THREADS is given twice"));
}

}  // namespace
}  // namespace softmax_dispatch
