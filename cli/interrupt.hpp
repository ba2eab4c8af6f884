#pragma once

#include <atomic>

namespace softmax_dispatch::cli {

/// While one lives, the first SIGINT or SIGTERM only sets the flag, so that a tune can finish with what there is; the
/// second ends the process at once. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  const std::atomic<bool>& flag() const noexcept;
};

}  // namespace softmax_dispatch::cli
