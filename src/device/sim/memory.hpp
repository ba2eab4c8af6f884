#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace softmax_dispatch::sim {

/// A range of device addresses, and the host memory behind it.
class Allocation {
 public:
  /// Owns its bytes; nothing in it is initialised.
  Allocation(DevicePtr base, std::size_t bytes, std::string name);
  /// Memory of the host at its own address, all of it initialised.
  Allocation(std::byte* host, std::size_t bytes, std::string name);

  DevicePtr base() const noexcept { return base_; }
  std::size_t bytes() const noexcept { return bytes_; }
  std::byte* host() const noexcept { return host_; }
  const std::string& name() const noexcept { return name_; }  ///< "allocation", or what it is.
  bool holds(DevicePtr address, std::size_t bytes) const noexcept {
    return address >= base_ && address - base_ <= bytes_ && bytes <= bytes_ - (address - base_);
  }

  /// Whether every byte of [offset, offset + bytes) was written.
  bool initialised(std::size_t offset, std::size_t bytes) const noexcept;
  void mark(std::size_t offset, std::size_t bytes) noexcept;
  void mark_all() noexcept { complete_.store(true, std::memory_order_relaxed); }
  bool complete() const noexcept { return complete_.load(std::memory_order_relaxed); }

 private:
  struct Free {
    void operator()(void* data) const noexcept;
  };

  DevicePtr base_;
  std::size_t bytes_;
  std::string name_;
  std::unique_ptr<std::byte, Free> storage_;
  std::byte* host_;
  /// Per word of 4 bytes one bit for each of its bytes. A byte is shared by threads only where they write parts of one
  /// word, and then changed atomically.
  std::unique_ptr<std::uint8_t, Free> written_;
  std::atomic<bool> complete_{false};
};

/// What is allocated at one moment; kept alive by whoever uses it.
using Allocations = std::vector<std::shared_ptr<Allocation>>;  // by ascending base

/// Keeps the order of the bases.
void insert(Allocations& all, std::shared_ptr<Allocation> one);
/// The allocation that holds the address, or null.
Allocation* find_allocation(const Allocations& all, DevicePtr address) noexcept;
/// "12 bytes past the end of the allocation of 4096 bytes at 0x...", "not near any allocation".
std::string describe_outside(const Allocations& all, DevicePtr address);

/// The memory of a simulated device. Addresses are never given twice, so that a use after release is always found;
/// between allocations lie 16 GiB of nothing. Thread-safe.
class Memory {
 public:
  explicit Memory(std::int64_t capacity_bytes) : capacity_(capacity_bytes) {}

  /// Whether the address is one that allocations come from; addresses of the host lie below.
  static bool is_device_address(DevicePtr address) noexcept { return address >= kFirst; }

  /// Aligned to 256 bytes. Throws Error(device) where the device has no more memory.
  DevicePtr allocate(std::size_t bytes, const std::string& name = "allocation");
  void release(DevicePtr pointer) noexcept;

  void upload(DevicePtr to, const void* from, std::size_t bytes);
  void download(void* to, DevicePtr from, std::size_t bytes) const;
  void fill(DevicePtr to, unsigned char byte, std::size_t bytes);
  void copy(DevicePtr to, DevicePtr from, std::size_t bytes);

  std::shared_ptr<const Allocations> snapshot() const;

 private:
  static constexpr DevicePtr kFirst = DevicePtr{1} << 60;

  /// The allocation with all of [pointer, pointer + bytes), else Error(device).
  std::shared_ptr<Allocation> at(DevicePtr pointer, std::size_t bytes, const char* action) const;

  mutable std::mutex mutex_;
  std::shared_ptr<const Allocations> all_ = std::make_shared<const Allocations>();
  std::int64_t capacity_;
  std::int64_t used_ = 0;
  DevicePtr next_ = kFirst;
};

}  // namespace softmax_dispatch::sim
