// What every test of this program finds in its environment.
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/files.hpp"

namespace softmax_dispatch::testing {
namespace {

/// The simulated device, no table, and a cubin cache without verdicts of another process.
class Simulated : public ::testing::Environment {
 public:
  void SetUp() override {
    ::setenv("SOFTMAX_DISPATCH_DEVICE", "sim", 1);
    ::unsetenv("SOFTMAX_DISPATCH_TABLE");
    ::setenv("SOFTMAX_DISPATCH_CACHE", (folder_.path() / "cache").c_str(), 1);
  }

 private:
  TemporaryDirectory folder_;
};

const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new Simulated);

}  // namespace
}  // namespace softmax_dispatch::testing
