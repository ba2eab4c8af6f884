#pragma once

#include "device/sim/model/constants.hpp"
#include "device/sim/timing_model.hpp"

namespace softmax_dispatch::sim {

/// Time from what a launch executes and what the GPU can do: docs/model.md has the formulae and what they rest on.
class PhysicalModel : public TimingModel {
 public:
  explicit PhysicalModel(const ModelConstants& constants);

  const InstructionCosts& costs() const override { return costs_; }
  ModelledTime launch(const TimedLaunch& launch) const override;
  double copy_us(const DeviceInfo& device, std::size_t bytes, std::int64_t bytes_between_uses) const override;

 private:
  ModelConstants constants_;
  InstructionCosts costs_;
};

}  // namespace softmax_dispatch::sim
