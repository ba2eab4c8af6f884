#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace softmax_dispatch::verify {

/// Where the matrices of a case lie: their distance from 16-byte alignment in elements, and whether y is x.
struct Placement {
  int x_offset = 0;
  int y_offset = 0;
  bool in_place = false;
};

std::string to_string(const Placement& placement);  ///< "aligned", "x + 4 bytes, y + 8 bytes", "in place + 12 bytes".

/// One device allocation that holds guard | x | guard | y | guard (in place: guard | x | guard). Guards are NaN of
/// known bits, 16 KiB each, so that a read of them spoils the result and a write to them is seen; y is poisoned with
/// 0xFF.
class GuardedBuffers {
 public:
  explicit GuardedBuffers(Device& device) : device_(device) {}

  /// Lays the matrices out anew and uploads everything.
  void prepare(std::span<const float> x, const Placement& placement);
  DevicePtr x() const noexcept { return buffer_.get() + x_begin_ * sizeof(float); }
  DevicePtr y() const noexcept { return buffer_.get() + y_begin_ * sizeof(float); }

  /// Brings everything back after the launch.
  void fetch();
  /// What was written besides y: a guard or the input, in words; nothing where both are as they were.
  std::optional<std::string> damage() const;
  std::span<const float> output() const;

  /// Whether the element is still poison: no arithmetic gives a NaN of all ones.
  static bool unwritten(float element) noexcept;

 private:
  std::string describe_damage(std::size_t word) const;

  Device& device_;
  Buffer buffer_;
  std::vector<float> sent_, received_;
  std::size_t elements_ = 0, x_begin_ = 0, y_begin_ = 0;
};

}  // namespace softmax_dispatch::verify
