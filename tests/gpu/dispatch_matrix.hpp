#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <random>
#include <softmax_dispatch/status.hpp>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "verify/reference.hpp"

namespace softmax_dispatch::testing {

/// Elements by which the matrices start after a 256-byte boundary.
struct Placement {
  std::int64_t x = 0, y = 0;
};

/// A random x and a poisoned y on the device, and the check of what a dispatch made of them.
class Matrix {
 public:
  Matrix(Device& device, std::int64_t M, std::int64_t N, Placement placement = {})
      : device_(device), M_(M), N_(N), placement_(placement), host_x_(static_cast<std::size_t>(M * N)) {
    std::mt19937 random(42);
    std::uniform_real_distribution<float> uniform(-10.0f, 10.0f);
    for (float& value : host_x_) value = uniform(random);
    device_x_ = Buffer(device, bytes() + 16);
    device_y_ = Buffer(device, bytes() + 16);
    reset();
  }

  float* x() const { return at(device_x_, placement_.x); }
  float* y() const { return at(device_y_, placement_.y); }
  std::string name() const { return fmt::format("f32:{}x{}, x+{}, y+{}", M_, N_, placement_.x, placement_.y); }

  void reset() {
    device_.upload(address(x()), host_x_.data(), bytes());
    device_.fill(address(y()), 0xFF, bytes());
  }

  /// Why y is not the softmax of x, in words; "" where it is. Waits for the device.
  std::string wrong(const Status& status) const { return wrong_at(y(), status); }
  /// The same for a dispatch from x to x.
  std::string wrong_in_place(const Status& status) const { return wrong_at(x(), status); }

 private:
  static float* at(const Buffer& buffer, std::int64_t offset) {
    return reinterpret_cast<float*>(static_cast<std::uintptr_t>(buffer.get())) + offset;
  }
  static DevicePtr address(const float* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }
  std::size_t bytes() const { return host_x_.size() * sizeof(float); }

  std::string wrong_at(const float* result, const Status& status) const {
    if (!status.ok()) return status.message();
    device_.synchronize();
    std::vector<float> got(host_x_.size());
    device_.download(got.data(), address(result), bytes());
    const auto comparison =
        verify::compare(host_x_, got, verify::reference(host_x_, M_, N_), M_, N_, /*published=*/false);
    return comparison.pass ? "" : comparison.reason;
  }

  Device& device_;
  std::int64_t M_, N_;
  Placement placement_;
  std::vector<float> host_x_;
  Buffer device_x_, device_y_;
};

}  // namespace softmax_dispatch::testing
