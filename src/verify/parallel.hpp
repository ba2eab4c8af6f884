#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace softmax_dispatch::verify {

/// Calls f(i) for every i in [0, count) from several threads, each with a contiguous share, where `work` (elements in
/// all) is worth starting threads for. f must not throw.
template <typename F>
void parallel_for(std::int64_t count, std::int64_t work, const F& f) {
  // Starting a thread takes tens of microseconds, in which one core compares some 16K elements.
  constexpr std::int64_t kWorkPerThread = 1 << 17;
  const std::int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::int64_t threads = std::min({cores, count, work / kWorkPerThread, std::int64_t{16}});
  const auto share = [&](std::int64_t t) {
    for (std::int64_t i = count * t / threads; i < count * (t + 1) / threads; ++i) f(i);
  };
  if (threads <= 1) {
    for (std::int64_t i = 0; i < count; ++i) f(i);
    return;
  }
  std::vector<std::thread> others;
  for (std::int64_t t = 1; t < threads; ++t) others.emplace_back(share, t);
  share(0);
  for (std::thread& thread : others) thread.join();
}

}  // namespace softmax_dispatch::verify
