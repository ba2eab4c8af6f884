#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/device.hpp"
#include "support/arch.hpp"
#include "support/elements.hpp"
#include "support/error.hpp"

namespace softmax_dispatch {

/// Stands for a kernel: reads launch.x and writes launch.y through host_pointer(). What it throws is the device's
/// sticky error.
using FakeKernelFunction = std::function<void(const Launch&)>;

inline float* host_pointer(DevicePtr pointer) {
  return reinterpret_cast<float*>(static_cast<std::uintptr_t>(pointer));
}

/// A right kernel: each row in FP64, rounded once.
inline void fake_softmax(const Launch& launch) {
  for (std::int64_t row = 0; row < launch.M; ++row) {
    const float* x = host_pointer(launch.x) + row * launch.N;
    float* y = host_pointer(launch.y) + row * launch.N;
    double max = -std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < launch.N; ++i) max = std::max(max, static_cast<double>(x[i]));
    double sum = 0;
    for (std::int64_t i = 0; i < launch.N; ++i) sum += std::exp(static_cast<double>(x[i]) - max);
    for (std::int64_t i = 0; i < launch.N; ++i)
      y[i] = static_cast<float>(std::exp(static_cast<double>(x[i]) - max) / sum);
  }
}

/// The same for a kernel of the type.
inline FakeKernelFunction fake_softmax_of(DType dtype) {
  if (dtype == DType::f32) return fake_softmax;
  return [dtype](const Launch& launch) {
    const auto elements = static_cast<std::size_t>(launch.M * launch.N);
    const auto bytes = [](DevicePtr pointer) { return reinterpret_cast<std::byte*>(host_pointer(pointer)); };
    const std::vector<float> x = to_values(dtype, std::span(bytes(launch.x), elements * size_of(dtype)));
    for (std::size_t row = 0; row < elements; row += static_cast<std::size_t>(launch.N)) {
      double max = -std::numeric_limits<double>::infinity(), sum = 0;
      const auto of_row = std::span(x).subspan(row, static_cast<std::size_t>(launch.N));
      for (const double value : of_row) max = std::max(max, value);
      for (const double value : of_row) sum += std::exp(value - max);
      for (std::size_t i = 0; i < of_row.size(); ++i) {
        const std::uint16_t bits = round_to(dtype, std::exp(static_cast<double>(of_row[i]) - max) / sum);
        std::memcpy(bytes(launch.y) + (row + i) * sizeof bits, &bits, sizeof bits);
      }
    }
  };
}

struct FakeKernel : LoadedKernel {
  explicit FakeKernel(FakeKernelFunction f) : function(std::move(f)) {}
  FakeKernelFunction function;
};

/// A device whose memory is the host's and whose kernels are C++ functions, for tests without a GPU. A load() gives the
/// function defined for the entry, else fake_softmax. Memory is checked: a transfer outside an allocation throws.
class FakeDevice : public Device {
 public:
  explicit FakeDevice(std::string_view arch = "sm_90") {
    info_.name = "fake GPU";
    info_.arch = arch;
    info_.sm_count = 8;
    info_.l2_bytes = 1 << 20;
    info_.memory_bytes = std::int64_t{1} << 32;
    info_.memory_bus_bits = 256;
    info_.sm_clock_khz = 1000000;
    info_.memory_clock_khz = 1000000;
    info_.driver_version = 13000;
    info_.limits = arch_limits(arch);
  }

  void define(std::string entry, FakeKernelFunction function) { functions_[std::move(entry)] = std::move(function); }
  static std::shared_ptr<const LoadedKernel> kernel(FakeKernelFunction function) {
    return std::make_shared<FakeKernel>(std::move(function));
  }
  std::int64_t launches() const noexcept { return launches_; }
  std::int64_t loads() const noexcept { return loads_; }
  std::size_t live_allocations() const noexcept { return memory_.size(); }
  /// Microseconds that replay_us() and time_stream_us() report per launch.
  std::function<double(const Launch&)> time_us = [](const Launch&) { return 1.0; };

  const DeviceInfo& info() const override { return info_; }

  DevicePtr allocate(std::size_t bytes) override {
    throw_if_lost();
    Block block{static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 1), kAlignment)), bytes};
    const auto pointer = static_cast<DevicePtr>(reinterpret_cast<std::uintptr_t>(block.data.get()));
    memory_.emplace(pointer, std::move(block));
    return pointer;
  }
  void release(DevicePtr pointer) noexcept override { memory_.erase(pointer); }
  void upload(DevicePtr to, const void* from, std::size_t bytes) override {
    std::memcpy(checked(to, bytes), from, bytes);
  }
  void download(void* to, DevicePtr from, std::size_t bytes) override { std::memcpy(to, checked(from, bytes), bytes); }
  void fill(DevicePtr to, unsigned char byte, std::size_t bytes) override {
    std::memset(checked(to, bytes), byte, bytes);
  }

  std::shared_ptr<const LoadedKernel> load(std::string_view, const std::string& entry, const Resources&) override {
    throw_if_lost();
    ++loads_;
    const auto found = functions_.find(entry);
    return kernel(found == functions_.end() ? fake_softmax : found->second);
  }

  /// What resident_blocks() answers: as many as anybody wants.
  std::function<std::int64_t(const Geometry&)> resident = [](const Geometry&) { return std::int64_t{1} << 31; };
  std::int64_t resident_blocks(const LoadedKernel&, const Geometry& geometry) override { return resident(geometry); }

  void launch(const Launch& launch, Stream) override {
    throw_if_lost();
    ++launches_;
    try {
      dynamic_cast<const FakeKernel&>(*launch.kernel).function(launch);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!lost_) lost_ = std::current_exception();
    }
  }
  void synchronize() override { throw_if_lost(); }

  std::unique_ptr<Batch> record(std::span<const Launch> launches) override {
    return std::make_unique<FakeBatch>(*this, std::vector<Launch>(launches.begin(), launches.end()));
  }
  std::unique_ptr<Batch> record(std::span<const Copy> copies) override {
    for (const Copy& copy : copies) std::memmove(checked(copy.y, copy.bytes), checked(copy.x, copy.bytes), copy.bytes);
    return std::make_unique<FakeBatch>(*this, std::vector<Launch>());
  }
  double time_stream_us(const Launch& launch, int warmups, int launches) override {
    for (int i = 0; i < warmups + launches; ++i) this->launch(launch, {});
    synchronize();
    return time_us(launch);
  }

 private:
  static constexpr std::align_val_t kAlignment{256};
  struct Free {
    void operator()(std::byte* data) const noexcept { ::operator delete(data, kAlignment); }
  };
  struct Block {
    Block(std::byte* pointer, std::size_t size) : data(pointer), bytes(size) {}
    std::unique_ptr<std::byte, Free> data;
    std::size_t bytes;
  };

  struct FakeBatch : Batch {
    FakeBatch(FakeDevice& d, std::vector<Launch> l) : device(d), launches(std::move(l)) {}
    double replay_us() override {
      double total = 0;
      for (const Launch& launch : launches) {
        device.launch(launch, {});
        total += device.time_us(launch);
      }
      device.synchronize();
      return launches.empty() ? 1.0 : total / static_cast<double>(launches.size());
    }
    FakeDevice& device;
    std::vector<Launch> launches;
  };

  void throw_if_lost() const {
    const std::lock_guard lock(mutex_);
    if (lost_) std::rethrow_exception(lost_);
  }
  std::byte* checked(DevicePtr pointer, std::size_t bytes) const {
    throw_if_lost();
    auto block = memory_.upper_bound(pointer);
    if (block != memory_.begin()) {
      --block;
      const std::uint64_t offset = pointer - block->first;
      if (offset <= block->second.bytes && bytes <= block->second.bytes - offset)
        return block->second.data.get() + offset;
    }
    throw_error(StatusCode::device, "fake device: {} bytes at {:#x} are in no allocation", bytes, pointer);
  }

  DeviceInfo info_;
  std::map<std::string, FakeKernelFunction, std::less<>> functions_;
  std::map<DevicePtr, Block> memory_;
  mutable std::mutex mutex_;
  std::exception_ptr lost_;
  std::atomic<std::int64_t> launches_{0};
  std::atomic<std::int64_t> loads_{0};
};

}  // namespace softmax_dispatch
