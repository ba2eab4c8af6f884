#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

#include "device/device.hpp"
#include "device/sim/exec/launch.hpp"
#include "device/sim/memory.hpp"
#include "device/sim/sampled_counts.hpp"
#include "device/sim/timing_model.hpp"
#include "support/error.hpp"

namespace softmax_dispatch::sim {

struct SimOptions {
  bool checks = true;         ///< Of launches; RunOptions::checks. Counting runs have none.
  unsigned host_threads = 0;  ///< 0: as many as the host has.
  std::uint64_t seed = 0;     ///< Of the order of blocks in a kernel's first launch; each launch has another order.
  /// Blocks that a run for counts executes at most; 0: all. See RunOptions::sampled_blocks.
  std::uint64_t sampled_blocks = 96;
  /// x and y of a launch that are no allocations are matrices in the program's own memory: float, M x N, accessible to
  /// that launch alone and to their last byte.
  bool host_memory = false;
  /// Whether a fault is thrown by every later call as well, as on a GPU it ends the context.
  bool sticky_faults = true;
};

/// What a kernel did wrong: code device. Other errors of a launch are of the launch or of the host.
class Fault : public Error {
 public:
  explicit Fault(const std::string& message) : Error(StatusCode::device, message) {}
};

class SimKernel;

/// A device that is the CPU: it executes PTX, checks what the kernels do, and takes its times from a model.
///
/// Launches are complete when launch() returns; those with a workspace run one after the other. A kernel's Fault is
/// thrown by launch(); see SimOptions::sticky_faults. Batches and time_stream_us() execute only as much of a launch as
/// its counts need, once for launches that differ in nothing but the buffers: what they leave in memory is not defined,
/// and they take a workspace of their own. Unlike other devices it is thread-safe as a whole.
class SimDevice : public Device {
 public:
  /// `info` describes the device; `simulated` is set.
  SimDevice(DeviceInfo info, std::shared_ptr<const TimingModel> model, const SimOptions& options = {});
  ~SimDevice() override;

  const DeviceInfo& info() const override { return info_; }
  DevicePtr allocate(std::size_t bytes) override;
  void release(DevicePtr pointer) noexcept override;
  void upload(DevicePtr to, const void* from, std::size_t bytes) override;
  void download(void* to, DevicePtr from, std::size_t bytes) override;
  void fill(DevicePtr to, unsigned char byte, std::size_t bytes) override;

  /// The image is PTX. Without resources the registers are not part of what a launch is checked for.
  std::shared_ptr<const LoadedKernel> load(std::string_view image, const std::string& entry,
                                           const Resources& resources) override;
  std::shared_ptr<const LoadedKernel> load(std::string_view image, const std::string& entry) {
    return load(image, entry, {});
  }

  std::int64_t resident_blocks(const LoadedKernel& kernel, const Geometry& geometry) override;
  void launch(const Launch& launch, Stream stream) override;
  void synchronize() override;
  std::unique_ptr<Batch> record(std::span<const Launch> launches) override;
  std::unique_ptr<Batch> record(std::span<const Copy> copies) override;
  double time_stream_us(const Launch& launch, int warmups, int launches) override;

  /// What the launch's first phase executes; sampled where the grid is large.
  LaunchCounts count(const Launch& launch);
  /// The model's time for it where the same launch came just before, and what it consists of.
  ModelledTime model(const Launch& launch);
  /// The same where `bytes_between_uses` distinct bytes are accessed from one use of its buffers to the next.
  ModelledTime model(const Launch& launch, std::int64_t bytes_between_uses);

 private:
  using TimeKey = std::tuple<std::uint64_t, std::int64_t, int, std::int64_t, std::int64_t, std::int64_t, DevicePtr,
                             DevicePtr, bool, std::int64_t>;
  class LaunchBatch;
  class CopyBatch;

  /// One phase. `options`: what its launch and this device do not decide.
  LaunchCounts execute(const Launch& launch, int phase, RunOptions options);
  ModelledTime model_phase(const Launch& launch, int phase, std::int64_t bytes_between_uses);
  void check_launch(const SimKernel& kernel, const Geometry& geometry);
  std::shared_ptr<const Allocations> memory_of(const Launch& launch) const;
  void throw_if_lost() const;

  DeviceInfo info_;
  std::shared_ptr<const TimingModel> model_;
  SimOptions options_;
  std::shared_ptr<Memory> memory_;
  mutable std::mutex mutex_;
  std::exception_ptr lost_;
  std::map<TimeKey, ModelledTime> times_;
  SampledCounts counts_;
  /// Held by a launch with a workspace: streams are ignored here, and two launches must not use one at once.
  std::mutex workspace_mutex_;
};

}  // namespace softmax_dispatch::sim
