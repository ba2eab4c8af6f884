#include "device/sim/exec/progress.hpp"

#include <algorithm>

namespace softmax_dispatch::sim {
namespace {

/// Rounds without a store before states are compared at all: ordinary blocks store or end before that.
constexpr std::uint64_t kQuietRounds = 8;
constexpr std::uint64_t kMostPolls = std::uint64_t{1} << 24;

}  // namespace

Progress::Progress(unsigned workers, std::uint64_t resident_limit)
    : workers_(workers), resident_limit_(std::max<std::uint64_t>(1, resident_limit)) {}

bool Progress::enter() noexcept {
  if (resident_.fetch_add(1) < resident_limit_) return true;
  leave();
  return false;
}

bool Progress::fault(std::uint64_t order) noexcept {
  std::uint64_t before = fault_order_.load();
  while (order < before) {
    if (fault_order_.compare_exchange_weak(before, order)) return true;
  }
  return false;
}

std::uint64_t Progress::effects() const noexcept {
  std::uint64_t sum = 0;
  for (const Worker& one : workers_) sum += one.effects.load();
  return sum;
}

bool Progress::stalled(unsigned worker, std::uint64_t now) noexcept {
  workers_[worker].state.store(now);
  const bool all = std::all_of(workers_.begin(), workers_.end(), [&](const Worker& one) {
    const std::uint64_t state = one.state.load();
    return state == now || state == kDone;
  });
  return all && effects() == now;
}

bool Watch::repeats(const std::vector<std::unique_ptr<Block>>& blocks, std::uint64_t effects, std::uint64_t polls) {
  if (effects != effects_) {
    moved();
    effects_ = effects;
  }
  polls_ += polls;
  if (polls_ > kMostPolls) found_ = true;
  if (found_ || ++quiet_rounds_ < kQuietRounds) return found_;
  std::string state;
  for (const auto& block : blocks) state += block->state_hash();
  found_ = state == kept_;
  if (++since_kept_ >= keep_after_) {
    kept_ = std::move(state);
    since_kept_ = 0;
    keep_after_ *= 2;
  }
  return found_;
}

}  // namespace softmax_dispatch::sim
