#include "support/text.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>

#include "support/decimal_comma.hpp"

namespace softmax_dispatch {
namespace {

using ::testing::ElementsAre;

TEST(ParseInt, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_int("0"), 0);
  EXPECT_EQ(parse_int("-17"), -17);
  EXPECT_EQ(parse_int("9223372036854775807"), INT64_MAX);
  for (const char* text : {"", "-", "+1", " 1", "1 ", "1.0", "1e3", "0x10", "9223372036854775808", "1,000"}) {
    EXPECT_EQ(parse_int(text), std::nullopt) << text;
  }
}

TEST(ParseDouble, TakesFiniteNumbersWithAPoint) {
  EXPECT_EQ(parse_double("3.25"), 3.25);
  EXPECT_EQ(parse_double("-1e-3"), -1e-3);
  EXPECT_EQ(parse_double("7"), 7.0);
  for (const char* text : {"", "3,25", "inf", "nan", "1e999", "1.0f", "+1.0", " 1.0"}) {
    EXPECT_EQ(parse_double(text), std::nullopt) << text;
  }
}

TEST(Numbers, RoundTripBitForBitUnderADecimalComma) {
  const testing::DecimalComma comma;
  std::ostringstream probe;
  probe << 1.5;
  ASSERT_EQ(probe.str(), "1,5") << "the locale does not bite";

  EXPECT_EQ(format_double(1234567.5), "1234567.5");
  EXPECT_EQ(parse_double("1234567.5"), 1234567.5);
  EXPECT_EQ(parse_double("1234567,5"), std::nullopt);
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t bits = random();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(parse_double(format_double(value)), value) << format_double(value);
  }
  for (const double value : {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max(), 0.1}) {
    EXPECT_EQ(parse_double(format_double(value)), value);
  }
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_THAT(split("a,b", ','), ElementsAre("a", "b"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split(",a,", ','), ElementsAre("", "a", ""));
}

TEST(Trim, DropsSpaceAtBothEnds) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Join, PutsTheSeparatorBetween) {
  EXPECT_EQ(join({"a", "", "c"}, ", "), "a, , c");
  EXPECT_EQ(join({}, ", "), "");
}

}  // namespace
}  // namespace softmax_dispatch
