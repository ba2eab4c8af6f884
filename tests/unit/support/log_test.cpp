#include "support/log.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <string>

namespace softmax_dispatch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Log, WritesLinesOfTheLevelAndAboveToStderr) {
  set_log_level(LogLevel::info);
  ::testing::internal::CaptureStderr();
  log(LogLevel::debug, "a {}", 1);
  log(LogLevel::info, "b {}", 2);
  log_line(LogLevel::error, "braces {} stay");
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text,
              AllOf(Not(HasSubstr("a 1")), HasSubstr("softmax_dispatch [info] b 2\n"), HasSubstr("braces {} stay")));
}

TEST(Log, OffIsSilent) {
  set_log_level(LogLevel::off);
  EXPECT_FALSE(log_enabled(LogLevel::error));
  EXPECT_FALSE(log_enabled(LogLevel::off));
  set_log_level(LogLevel::warn);
  EXPECT_TRUE(log_enabled(LogLevel::warn));
  EXPECT_FALSE(log_enabled(LogLevel::info));
}

/// The level is read once in a process, so each case runs in a process of its own.
class LogDeathTest : public ::testing::Test {
 protected:
  LogDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  /// Exits with 10 * info enabled + warn enabled.
  [[noreturn]] static void exit_with_levels(const char* variable) {
    ::setenv("SOFTMAX_DISPATCH_LOG", variable, 1);
    const int code = (log_enabled(LogLevel::info) ? 10 : 0) + (log_enabled(LogLevel::warn) ? 1 : 0);
    ::setenv("SOFTMAX_DISPATCH_LOG", "debug", 1);
    std::exit(log_enabled(LogLevel::debug) && std::string_view(variable) != "debug" ? 99 : code);
  }
};

TEST_F(LogDeathTest, LevelComesFromTheEnvironmentOnce) {
  EXPECT_EXIT(exit_with_levels(""), ::testing::ExitedWithCode(1), "");
  EXPECT_EXIT(exit_with_levels("info"), ::testing::ExitedWithCode(11), "");
  EXPECT_EXIT(exit_with_levels("debug"), ::testing::ExitedWithCode(11), "");
  EXPECT_EXIT(exit_with_levels("error"), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(exit_with_levels("loud"), ::testing::ExitedWithCode(1), "'loud', which is no level; use off, error");
}

}  // namespace
}  // namespace softmax_dispatch
