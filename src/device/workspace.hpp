#pragma once

#include <cstddef>
#include <utility>

#include "device/device.hpp"

namespace softmax_dispatch {

/// The workspace of launches that follow one another: device memory that is zeroed when it is allocated, and then holds
/// what each launch leaves for the next. It grows to what the largest launch asks for.
class Workspace {
 public:
  explicit Workspace(Device& device) : device_(device) {}

  /// For Launch::workspace; 0 where the launch takes none. Allocates where what is there is too small, so that no
  /// launch may be under way.
  DevicePtr of(const Geometry& geometry) {
    if (geometry.workspace_bytes == 0) return 0;
    const auto bytes = static_cast<std::size_t>(geometry.workspace_bytes);
    if (buffer_.bytes() < bytes) {
      Buffer larger(device_, bytes);
      device_.fill(larger.get(), 0, bytes);
      buffer_ = std::move(larger);
    }
    return buffer_.get();
  }

 private:
  Device& device_;
  Buffer buffer_;
};

}  // namespace softmax_dispatch
