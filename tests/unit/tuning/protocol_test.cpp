#include "tuning/protocol.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "support/expect_error.hpp"

namespace softmax_dispatch::tuning {
namespace {

TEST(Summarize, TakesMedianAndQuartiles) {
  const Timing odd = summarize({5, 1, 4, 2, 3});
  EXPECT_EQ(odd.median_us, 3);
  EXPECT_EQ(odd.low_us, 2);
  EXPECT_EQ(odd.high_us, 4);
  EXPECT_EQ(odd.samples, 5);
  EXPECT_EQ(summarize({4, 2}).median_us, 3);
  EXPECT_EQ(summarize({}).samples, 0);
}

TEST(ProtocolText, ReadsBack) {
  for (const Protocol protocol : {Protocol::graph, Protocol::published})
    EXPECT_EQ(parse_protocol(to_string(protocol)), protocol);
  EXPECT_THAT(testing::error_of(StatusCode::invalid_argument, [] { parse_protocol("events"); }),
              ::testing::HasSubstr("events"));
}

}  // namespace
}  // namespace softmax_dispatch::tuning
