#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "jit/nvrtc.hpp"

namespace softmax_dispatch {

/// The NVRTC of the toolkit for "default"; for "12.4", the library that SOFTMAX_DISPATCH_TEST_NVRTC12 names, null where
/// the variable is not set (run-tests sets it).
inline std::shared_ptr<const jit::Nvrtc> test_nvrtc(const std::string& which) {
  if (which == "default") return jit::Nvrtc::open();
  const char* path = std::getenv("SOFTMAX_DISPATCH_TEST_NVRTC12");
  if (path == nullptr || *path == '\0') return nullptr;
  return jit::Nvrtc::open(path);
}

inline std::string missing_nvrtc(const std::string& which) {
  return "NVRTC " + which +
         " is not here: run the tests by ./run-tests, which fetches it, or name its libnvrtc.so.12 in " +
         "SOFTMAX_DISPATCH_TEST_NVRTC12";
}

}  // namespace softmax_dispatch
