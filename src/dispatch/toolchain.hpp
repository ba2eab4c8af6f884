#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "jit/cache.hpp"
#include "jit/compiler.hpp"
#include "jit/sources.hpp"

namespace softmax_dispatch::runtime {

/// NVRTC with some kernels' sources and the user's cache, each opened when it is first needed. Thread-safe.
class Toolchain {
 public:
  /// `sources` must outlive it. `max_major` gives the newest major version of NVRTC that may be used (0: any) and may
  /// throw.
  Toolchain(const jit::Sources& sources, jit::Output output, std::function<int()> max_major)
      : sources_(sources), output_(output), max_major_(std::move(max_major)) {}

  /// Throws Error(toolchain).
  jit::CompiledKernel compile(const std::string& id, const Macros& macros, const std::string& arch) {
    return compiler().compile(id, macros, arch);
  }
  std::shared_ptr<jit::Cache> cache();

 private:
  const jit::Compiler& compiler();

  const jit::Sources& sources_;
  jit::Output output_;
  std::function<int()> max_major_;
  std::mutex mutex_;  ///< Guards what follows.
  std::optional<std::shared_ptr<jit::Cache>> cache_;
  std::optional<jit::Compiler> compiler_;
};

}  // namespace softmax_dispatch::runtime
