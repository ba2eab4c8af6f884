#include <gmock/gmock.h>

#include <softmax_dispatch/problem.hpp>

#include "support/decimal_comma.hpp"

namespace softmax_dispatch {
namespace {

using ::testing::HasSubstr;

TEST(ProblemText, ReadsBack) {
  const testing::DecimalComma comma;
  for (const Problem problem : {Problem{DType::f32, 1025, 257}, Problem{DType::bf16, 0, 1048576},
                                Problem{DType::f16, INT64_MAX / 2, 1}, Problem{DType::f32, INT64_MAX, 0}}) {
    Problem back;
    ASSERT_TRUE(parse_problem(to_string(problem), back).ok()) << to_string(problem);
    EXPECT_EQ(back, problem);
  }
  EXPECT_EQ(to_string(Problem{DType::f32, 1025, 257}), "f32:1025x257");
}

TEST(ProblemText, RefusesEverythingElseAndLeavesTheOutputAlone) {
  const auto message = [](const char* text) {
    Problem problem{DType::f16, 3, 4};
    const Status status = parse_problem(text, problem);
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << text;
    EXPECT_EQ(problem, (Problem{DType::f16, 3, 4})) << text;
    return std::string(status.message());
  };
  EXPECT_THAT(message(""), HasSubstr("DTYPE:MxN"));
  EXPECT_THAT(message("f32:12"), HasSubstr("DTYPE:MxN"));
  EXPECT_THAT(message("1024x257"), HasSubstr("DTYPE:MxN"));
  EXPECT_THAT(message("f64:1x1"), HasSubstr("type 'f64' is unknown; use f32, f16 or bf16"));
  EXPECT_THAT(message("f32:-1x257"), HasSubstr("M is '-1'"));
  EXPECT_THAT(message("f32:1x"), HasSubstr("N is ''"));
  EXPECT_THAT(message("f32:1x2x3"), HasSubstr("N is '2x3'"));
  EXPECT_THAT(message("f32:1,5x2"), HasSubstr("M is '1,5'"));
  EXPECT_THAT(message("f32:1x9223372036854775808"), HasSubstr("N is"));
  EXPECT_THAT(message("f32:9223372036854775807x1"), HasSubstr("more elements than"));
  EXPECT_THAT(message("f32:4294967296x4294967296"), HasSubstr("more elements than"));
}

TEST(DType, HasANameAndASize) {
  EXPECT_STREQ(to_string(DType::bf16), "bf16");
  EXPECT_EQ(size_of(DType::f32), 4u);
  EXPECT_EQ(size_of(DType::f16), 2u);
  EXPECT_EQ(size_of(DType::bf16), 2u);
}

}  // namespace
}  // namespace softmax_dispatch
