#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "tuning/measure.hpp"
#include "tuning/worker.hpp"
#include "tuning/worker_loop.hpp"

namespace softmax_dispatch::tuning {

/// What a worker process does, without the messages.
class WorkerJobs {
 public:
  /// Opens NVRTC and, where the settings name one, the device. `announce` is told what is about to run.
  WorkerJobs(const Registry& registry, const jit::Sources& sources, const WorkerSettings& settings,
             const OpenDevice& open_device, std::function<void(const std::string&)> announce);

  const DeviceInfo& device_info();
  const std::string& nvrtc_build() const;
  CompileResult compile(const Config& config);
  verify::Outcome verify(const Config& config, verify::Depth depth);
  std::vector<TimeResult> time(const Problem& problem, const std::vector<Config>& configs, const TimingPlan& plan);
  double copy_limit_us(const Problem& problem, const TimingPlan& plan);
  TimeResult reduce_once(const Problem& problem, const Config& config, const TimingPlan& plan);

 private:
  /// Runs a configuration's kernel on a device.
  using Use = std::function<void(Device& device, const LoadedKernel& kernel)>;

  Device& device();
  const LoadedKernel& loaded(const Config& config);
  Macros macros_of(const Config& config) const;
  void throw_with_line(const Config& config, const Use& again) const;
  std::vector<TimeResult> time(Measurer& measurer, const Problem& problem, std::span<const MeasureCandidate> candidates,
                               const TimingPlan& plan);

  const Registry& registry_;
  WorkerSettings settings_;
  std::string announced_;  ///< Last.
  std::function<void(const std::string&)> announce_;
  std::unique_ptr<Device> device_;
  jit::Compiler compiler_;
  std::map<Config, std::shared_ptr<const LoadedKernel>>
      loaded_;  ///< By the configuration without its launch parameters.
  std::optional<Measurer> measurer_;
};

}  // namespace softmax_dispatch::tuning
