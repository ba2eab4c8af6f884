#include "support/env.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace softmax_dispatch {
namespace {

TEST(Env, ReadsAnewAndTakesEmptyAsNotSet) {
  ::setenv("SOFTMAX_DISPATCH_TABLE", "a.yaml", 1);
  EXPECT_EQ(env::table(), "a.yaml");
  ::setenv("SOFTMAX_DISPATCH_TABLE", "", 1);
  EXPECT_EQ(env::table(), std::nullopt);
  ::unsetenv("SOFTMAX_DISPATCH_TABLE");
  EXPECT_EQ(env::table(), std::nullopt);
  ::setenv("SOFTMAX_DISPATCH_NVRTC", "/opt/libnvrtc.so.12", 1);
  EXPECT_EQ(env::nvrtc(), "/opt/libnvrtc.so.12");
  ::unsetenv("SOFTMAX_DISPATCH_NVRTC");
  ::setenv("SOFTMAX_DISPATCH_DEVICE", "sim", 1);
  EXPECT_EQ(env::device(), "sim");
  ::unsetenv("SOFTMAX_DISPATCH_DEVICE");
  EXPECT_EQ(env::device(), std::nullopt);
}

TEST(Env, CacheDirectoryFollowsItsLadder) {
  ::setenv("HOME", "/home/u", 1);
  ::setenv("XDG_CACHE_HOME", "/xdg", 1);
  ::setenv("SOFTMAX_DISPATCH_CACHE", "/mine", 1);
  EXPECT_EQ(env::cache_directory(), "/mine");
  ::setenv("SOFTMAX_DISPATCH_CACHE", "off", 1);
  EXPECT_EQ(env::cache_directory(), std::nullopt);
  ::unsetenv("SOFTMAX_DISPATCH_CACHE");
  EXPECT_EQ(env::cache_directory(), "/xdg/softmax_dispatch");
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(env::cache_directory(), "/home/u/.cache/softmax_dispatch");
  ::unsetenv("HOME");
  EXPECT_EQ(env::cache_directory(), std::nullopt);
}

}  // namespace
}  // namespace softmax_dispatch
