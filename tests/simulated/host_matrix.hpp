#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <softmax_dispatch/status.hpp>
#include <string>
#include <vector>

#include "verify/reference.hpp"

namespace softmax_dispatch::testing {

/// Where a matrix starts: elements after a multiple of 16 bytes.
struct Placement {
  std::int64_t x = 0, y = 0;
};

/// A random x and a poisoned y in the memory of the program with guards around both, and the check of what a dispatch
/// made of them.
class HostMatrix {
 public:
  HostMatrix(std::int64_t M, std::int64_t N, Placement placement = {}, unsigned seed = 42)
      : M_(M), N_(N), values_(static_cast<std::size_t>(M * N)), x_(storage()), y_(storage()) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-10.0f, 10.0f);
    for (float& value : values_) value = uniform(random);
    x_at_ = aligned(x_) + placement.x;
    y_at_ = aligned(y_) + placement.y;
    fill();
  }

  float* x() { return x_.data() + x_at_; }
  float* y() { return y_.data() + y_at_; }
  std::int64_t M() const { return M_; }
  std::int64_t N() const { return N_; }
  std::string name() const { return fmt::format("f32:{}x{}, x+{}, y+{}", M_, N_, x_at_ % 4, y_at_ % 4); }

  /// Changes an element of x.
  void set(std::int64_t row, std::int64_t column, float value) {
    values_[static_cast<std::size_t>(row * N_ + column)] = value;
    fill();
  }

  /// Why y is not the softmax of x, in words; "" where it is, and nothing else was written.
  std::string wrong(const Status& status) const {
    const std::string damage = damaged(x_, x_at_, &values_);
    return !status.ok() ? status.message() : !damage.empty() ? "x: " + damage : wrong_in(y_, y_at_);
  }
  /// The same for a dispatch from x to x.
  std::string wrong_in_place(const Status& status) const {
    return status.ok() ? wrong_in(x_, x_at_) : status.message();
  }

 private:
  static constexpr float kGuard = 1234.5f;
  static constexpr std::int64_t kGuards = 8;  // on either side, besides what alignment and placement take

  std::vector<float> storage() const {
    return std::vector<float>(static_cast<std::size_t>(M_ * N_ + 2 * kGuards + 8), kGuard);
  }
  /// The first index from kGuards on at a multiple of 16 bytes.
  static std::int64_t aligned(const std::vector<float>& storage) {
    std::int64_t index = kGuards;
    while (reinterpret_cast<std::uintptr_t>(storage.data() + index) % 16 != 0) ++index;
    return index;
  }
  void fill() {
    std::copy(values_.begin(), values_.end(), x_.begin() + x_at_);
    std::fill_n(y_.begin() + y_at_, values_.size(), kGuard);
  }

  std::string wrong_in(const std::vector<float>& storage, std::int64_t at) const {
    const std::vector<float> got(storage.begin() + at, storage.begin() + at + M_ * N_);
    const auto comparison =
        verify::compare(values_, got, verify::reference(values_, M_, N_), M_, N_, /*published=*/false);
    return comparison.pass ? damaged(storage, at, nullptr) : comparison.reason;
  }
  /// Which element outside the matrix was written, or, with `expected`, within it.
  std::string damaged(const std::vector<float>& storage, std::int64_t at, const std::vector<float>* expected) const {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(storage.size()); ++i) {
      const bool inside = i >= at && i < at + M_ * N_;
      if (inside && !expected) continue;
      const float want = inside ? (*expected)[static_cast<std::size_t>(i - at)] : kGuard;
      const float got = storage[static_cast<std::size_t>(i)];
      if (got != want && !(std::isnan(got) && std::isnan(want)))
        return fmt::format("element {} of the matrix was overwritten with {}", i - at, got);
    }
    return {};
  }

  std::int64_t M_, N_;
  std::vector<float> values_, x_, y_;
  std::int64_t x_at_ = 0, y_at_ = 0;
};

}  // namespace softmax_dispatch::testing
