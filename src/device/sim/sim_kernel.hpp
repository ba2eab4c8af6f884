#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "device/device.hpp"
#include "device/sim/memory.hpp"
#include "device/sim/program/program.hpp"
#include "device/sim/timing_model.hpp"

namespace softmax_dispatch::sim {

/// A program and the variables of its module on the device.
class SimKernel : public LoadedKernel {
 public:
  /// Throws Error(unsupported) for PTX that cannot be simulated, Error(device) where the entry is missing or has other
  /// parameters than the project's kernels.
  SimKernel(std::shared_ptr<Memory> memory, std::string_view image, const std::string& entry,
            const Resources& resources);
  ~SimKernel() override;
  SimKernel(const SimKernel&) = delete;
  SimKernel& operator=(const SimKernel&) = delete;

  /// Launches of this load before this one.
  std::uint64_t count_launch() const noexcept { return launches_++; }
  std::uint64_t id() const noexcept { return id_; }  ///< Of this load; never used again.
  const std::shared_ptr<const Program>& program() const noexcept { return program_; }
  const Resources& resources() const noexcept { return resources_; }
  /// Made at the first call; the costs must be those of every other call.
  const Schedule& schedule(const InstructionCosts& costs) const;

 private:
  std::uint64_t place(const ptx::Variable& variable);

  std::shared_ptr<Memory> memory_;
  Resources resources_;
  std::uint64_t id_;
  mutable std::atomic<std::uint64_t> launches_{0};
  std::map<std::string_view, DevicePtr> variables_;
  std::shared_ptr<const Program> program_;
  mutable std::once_flag scheduled_;
  mutable std::unique_ptr<const Schedule> schedule_;
};

}  // namespace softmax_dispatch::sim
