#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "unit/device/fake_driver/state.hpp"

namespace softmax_dispatch::cuda {

/// Tests on the fake driver. It bears the name of the real one, so that once it is open the library opens no other.
class FakeDriverTest : public ::testing::Test {
 protected:
  static FakeDriverState& state() {
    static FakeDriverState& instance = [&]() -> FakeDriverState& {
      void* library = ::dlopen(SOFTMAX_DISPATCH_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
      if (!library) throw std::runtime_error(::dlerror());
      return *reinterpret_cast<FakeDriverState* (*)()>(::dlsym(library, "fake_driver_state"))();
    }();
    return instance;
  }

  void SetUp() override { state() = {}; }
};

}  // namespace softmax_dispatch::cuda
