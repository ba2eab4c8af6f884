#include "dispatch/toolchain.hpp"

#include "jit/nvrtc.hpp"

namespace softmax_dispatch::runtime {

std::shared_ptr<jit::Cache> Toolchain::cache() {
  const std::lock_guard lock(mutex_);
  if (!cache_) cache_ = jit::Cache::user_default();
  return *cache_;
}

const jit::Compiler& Toolchain::compiler() {
  const std::shared_ptr<jit::Cache> disk = cache();
  const std::lock_guard lock(mutex_);
  if (!compiler_) compiler_.emplace(jit::Nvrtc::open({}, max_major_()), sources_, disk, output_);
  return *compiler_;
}

}  // namespace softmax_dispatch::runtime
