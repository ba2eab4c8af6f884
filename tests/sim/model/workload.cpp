#include "sim/model/workload.hpp"

#include <filesystem>
#include <random>

#include "variants/registry.hpp"

namespace softmax_dispatch::sim {

/// Keeps what it is asked.
class WorkloadMaker::Recorder : public TimingModel {
 public:
  explicit Recorder(const InstructionCosts& costs) : costs_(costs) {}
  const InstructionCosts& costs() const override { return costs_; }
  ModelledTime launch(const TimedLaunch& launch) const override {
    last = {launch.device,       launch.counts, launch.resources, launch.geometry,
            launch.shared_bytes, launch.M,      launch.N,         launch.bytes_between_uses};
    return {};
  }
  double copy_us(const DeviceInfo& /*device*/, std::size_t /*bytes*/, std::int64_t /*between*/) const override {
    return 0;
  }
  mutable Workload last;

 private:
  InstructionCosts costs_;
};

WorkloadMaker::WorkloadMaker(const DeviceInfo& info, const InstructionCosts& costs)
    : recorder_(std::make_shared<Recorder>(costs)),
      device_(std::make_unique<SimDevice>(info, recorder_)),
      compiler_(jit::Nvrtc::open(), jit::Sources::product(),
                std::make_shared<jit::Cache>(std::filesystem::path(SOFTMAX_DISPATCH_BINARY_DIR) / "model_cache")) {}

const LoadedKernel& WorkloadMaker::kernel(const Config& config) {
  const Macros macros = registry().at(config.variant).macros(config.dtype, config.constants);
  std::shared_ptr<const LoadedKernel>& loaded =
      kernels_[to_string(Config{config.variant, macros.constants, config.dtype})];
  if (!loaded) {
    const std::string& arch = device_->info().arch;
    loaded = device_->load(compiler_.compile_ptx(config.variant, macros, arch), config.variant,
                           compiler_.compile(config.variant, macros, arch).resources);
  }
  return *loaded;
}

Workload WorkloadMaker::make(const Config& config, std::int64_t M, std::int64_t N, std::int64_t bytes_between_uses) {
  const auto bytes = static_cast<std::size_t>(M * N) * sizeof(float);
  if (x_.bytes() < bytes) {
    x_ = {};
    y_ = {};
    x_ = Buffer(*device_, bytes);
    y_ = Buffer(*device_, bytes);
    // What lies behind stays zero: times depend on data only where lanes part, and no launch is counted in full.
    std::vector<float> input(std::min<std::size_t>(bytes / sizeof(float), std::size_t{1} << 24));
    std::mt19937 random(42);
    std::uniform_real_distribution<float> uniform(-10, 10);
    for (float& one : input) one = uniform(random);
    device_->upload(x_.get(), input.data(), input.size() * sizeof(float));
  }
  const Geometry geometry = registry().at(config.variant).geometry({config.dtype, M, N}, config.constants);
  Launch launch{&kernel(config), geometry, x_.get(), y_.get(), M, N};
  launch.element_bytes = static_cast<int>(size_of(config.dtype));
  // Not those of a launch that the device remembers: it would not ask again.
  const auto [made, added] = made_.try_emplace({to_string(config), M, N, bytes_between_uses});
  if (added) {
    if (bytes_between_uses > 0) {
      device_->model(launch, bytes_between_uses);
    } else {
      device_->model(launch);
    }
    made->second = recorder_->last;
  }
  return made->second;
}

}  // namespace softmax_dispatch::sim
