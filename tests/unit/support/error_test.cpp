#include "support/error.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <new>
#include <stdexcept>

namespace softmax_dispatch {
namespace {

TEST(Guarded, MapsWhateverIsThrown) {
  EXPECT_TRUE(guarded([] {}).ok());
  const Status own = guarded([] { throw_error(StatusCode::unsupported, "{} of {}", 1, 2); });
  EXPECT_EQ(own.code(), StatusCode::unsupported);
  EXPECT_STREQ(own.message(), "1 of 2");
  EXPECT_EQ(guarded([] { (void)std::filesystem::file_size("/nowhere/at/all"); }).code(), StatusCode::io);
  EXPECT_STREQ(guarded([] { throw std::bad_alloc(); }).message(), "out of host memory");
  EXPECT_STREQ(guarded([] { throw std::logic_error("why"); }).message(), "why");
  EXPECT_EQ(guarded([] { throw 3; }).code(), StatusCode::internal);
}

TEST(Check, ThrowsTheErrorOfAStatus) {
  EXPECT_NO_THROW(check(Status()));
  try {
    check(Status(StatusCode::io, "gone"));
    FAIL() << "no error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::io);
    EXPECT_STREQ(error.what(), "gone");
  }
}

TEST(StatusCode, HasANameForEveryValue) {
  EXPECT_STREQ(to_string(StatusCode::ok), "ok");
  EXPECT_STREQ(to_string(StatusCode::verification_failed), "verification_failed");
  for (int value = 0; value <= static_cast<int>(StatusCode::internal); ++value) {
    EXPECT_STRNE(to_string(static_cast<StatusCode>(value)), "unknown") << value;
  }
}

}  // namespace
}  // namespace softmax_dispatch
