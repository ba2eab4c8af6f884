#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <softmax_dispatch/dispatcher.hpp>
#include <span>
#include <string>
#include <string_view>

#include "support/answer.hpp"
#include "support/arch.hpp"
#include "support/geometry.hpp"
#include "support/resources.hpp"

namespace softmax_dispatch {

/// Identity and limits of a device, as the tuner, the table and `doctor` need them.
struct DeviceInfo {
  std::string name;  ///< "NVIDIA H200"
  std::string arch;  ///< "sm_90"
  int ordinal = 0;
  int sm_count = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  int memory_bus_bits = 0;
  int sm_clock_khz = 0;
  int memory_clock_khz = 0;
  int driver_version = 0;  ///< CUDA version of the driver, 1000 * major + 10 * minor.
  bool simulated = false;
  ArchLimits limits;  ///< As the device reports them.

  /// DRAM peak in GB/s from bus width and memory clock (two transfers a cycle); 0 where the driver reports no clock.
  double dram_peak_gb_per_s() const { return 2.0 * memory_clock_khz * 1e3 * (memory_bus_bits / 8.0) / 1e9; }
};

using DevicePtr = std::uint64_t;

/// A kernel loaded on a device. Its parameters are the first of (const T* x, T* y, int64 M, int64 N, void* workspace,
/// int phase, int parts), as many as it declares.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
};

struct Launch {
  const LoadedKernel* kernel = nullptr;
  Geometry geometry;
  DevicePtr x = 0;
  DevicePtr y = 0;
  std::int64_t M = 0;
  std::int64_t N = 0;
  /// geometry.workspace_bytes of device memory, aligned to 256 bytes, that was zeroed before its first launch. The
  /// launches that use one workspace follow one another, and each leaves it so that any kernel may use it next.
  DevicePtr workspace = 0;
  int element_bytes = 4;  ///< Of x and y.
};

/// Copy of `bytes` from x to y within the device.
struct Copy {
  DevicePtr x = 0;
  DevicePtr y = 0;
  std::size_t bytes = 0;
};

/// What work in a stream is ordered by. An id is never used again in the process.
struct StreamUse {
  std::uint64_t stream = 0;   ///< Id of the stream, whatever handle names it; during a capture the handle.
  std::uint64_t capture = 0;  ///< Id of the capture under way in it; 0: none.
  void* graph = nullptr;      ///< The graph that the capture makes.
};

/// Launches recorded once (on CUDA: a graph) that can be replayed and timed.
class Batch {
 public:
  virtual ~Batch() = default;
  /// Replays the batch once and waits: microseconds per launch, by device events around the replay.
  virtual double replay_us() = 0;
};

/// What the layers above know of a GPU. Not thread-safe except launch(). Every function throws Error(device) with the
/// driver's number and name; after a sticky error (illegal address, misaligned access, ...) every later call throws
/// too.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;

  virtual DevicePtr allocate(std::size_t bytes) = 0;  ///< Aligned to 256 bytes.
  virtual void release(DevicePtr pointer) noexcept = 0;
  virtual void upload(DevicePtr to, const void* from, std::size_t bytes) = 0;  ///< Synchronous.
  virtual void download(void* to, DevicePtr from, std::size_t bytes) = 0;      ///< Synchronous.
  virtual void fill(DevicePtr to, unsigned char byte, std::size_t bytes) = 0;  ///< Synchronous.

  /// A stream of the device's own, in which upload, download, fill and batches run. What is launched in it is ordered
  /// with them and, on CUDA, stays clear of the legacy default stream, whose use breaks captures of other threads.
  virtual Stream stream() { return {}; }

  /// Loads a cubin (simulated: PTX) and finds its one entry. Independent of contexts; keeps no reference to `image`.
  /// The resources are those of the compilation, which PTX does not tell; CUDA reads its own from the cubin.
  virtual std::shared_ptr<const LoadedKernel> load(std::string_view image, const std::string& entry,
                                                   const Resources& resources) = 0;

  /// Blocks of geometry's size and cluster that the device holds at once when nothing else runs on it, whatever
  /// geometry's grid is; 0 where it can hold none. Thread-safe.
  virtual std::int64_t resident_blocks(const LoadedKernel& kernel, const Geometry& geometry) = 0;
  /// Whether the device holds at once what a cooperative or a cluster launch needs: without it there is no such launch.
  Support co_resident(const LoadedKernel& kernel, const Geometry& geometry);

  /// Asynchronous in `stream`, all phases. Thread-safe, takes no lock and allocates nothing.
  virtual void launch(const Launch& launch, Stream stream) = 0;
  /// Waits for all work of the device, and throws what went wrong in it. (cuda::current_context_device: for the work in
  /// stream() alone.)
  virtual void synchronize() = 0;

  virtual std::unique_ptr<Batch> record(std::span<const Launch> launches) = 0;
  virtual std::unique_ptr<Batch> record(std::span<const Copy> copies) = 0;
  /// The published protocol: `warmups` launches, then `launches` between two events; mean microseconds per launch.
  virtual double time_stream_us(const Launch& launch, int warmups, int launches) = 0;
};

/// Device memory with an owner.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, std::size_t bytes) : device_(&device), pointer_(device.allocate(bytes)), bytes_(bytes) {}
  ~Buffer() {
    if (device_) device_->release(pointer_);
  }
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(pointer_, other.pointer_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  DevicePtr get() const noexcept { return pointer_; }
  std::size_t bytes() const noexcept { return bytes_; }
  /// The memory, which is its owner's no more.
  DevicePtr give() noexcept {
    device_ = nullptr;
    return pointer_;
  }

 private:
  Device* device_ = nullptr;
  DevicePtr pointer_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace softmax_dispatch
