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

/// "aligned", "x + 4 bytes, y + 8 bytes", "in place + 12 bytes".
std::string to_string(const Placement& placement, DType dtype);

/// One device allocation that holds guard | x | guard | y | guard (in place: guard | x | guard). Guards are NaN of
/// known bits in the type, 16 KiB each, so that a read of them spoils the result and a write to them is seen; y is
/// poisoned with 0xFF.
class GuardedBuffers {
 public:
  GuardedBuffers(Device& device, DType dtype) : device_(device), dtype_(dtype) {}

  /// Lays the matrices out anew and uploads everything. x is elements of the type in memory.
  void prepare(std::span<const std::byte> x, const Placement& placement);
  DevicePtr x() const noexcept { return buffer_.get() + x_begin_; }
  DevicePtr y() const noexcept { return buffer_.get() + y_begin_; }

  /// Brings everything back after the launch.
  void fetch();
  /// What was written besides y: a guard or the input, in words; nothing where both are as they were.
  std::optional<std::string> damage() const;
  std::span<const std::byte> output() const;

 private:
  std::string describe_damage(std::size_t at) const;

  Device& device_;
  DType dtype_;
  Buffer buffer_;
  std::vector<std::byte> sent_, received_;
  std::size_t bytes_ = 0, x_begin_ = 0, y_begin_ = 0;  ///< In bytes, as every position here.
};

/// The first element that is still poison; none where all were written. No arithmetic gives a NaN of all ones.
std::optional<std::int64_t> first_unwritten(std::span<const std::byte> elements, DType dtype) noexcept;

}  // namespace softmax_dispatch::verify
