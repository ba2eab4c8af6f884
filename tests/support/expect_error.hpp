#pragma once

#include <gmock/gmock.h>

#include <string>

#include "support/error.hpp"

namespace softmax_dispatch::testing {

/// The message of the Error with this code that f() must throw; "" (and a failure) where it throws none.
template <typename F>
std::string error_of(StatusCode code, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

}  // namespace softmax_dispatch::testing
