#include "cli/machine.hpp"

#include <algorithm>

#include "device/cuda/cuda.hpp"
#include "support/env.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace softmax_dispatch::cli {
namespace {

std::string gpus_text(const Machine& machine) {
  if (machine.gpus.empty()) return machine.why_none;
  std::vector<std::string> texts;
  for (const DeviceInfo& gpu : machine.gpus) texts.push_back(gpu_text(gpu));
  return "the GPUs here are " + join(texts, ", ");
}

}  // namespace

Machine look_at_machine() {
  Machine machine;
  try {
    machine.driver_version = cuda::driver_version();
    const int count = cuda::device_count();
    for (int ordinal = 0; ordinal < count; ++ordinal) machine.gpus.push_back(cuda::device_info(ordinal));
    if (count == 0) machine.why_none = "the driver finds no GPU: check nvidia-smi and CUDA_VISIBLE_DEVICES";
  } catch (const Error& error) {
    machine.why_none = error.what();
  }
  return machine;
}

std::string version_text(int cuda_version) {
  return fmt::format("{}.{}", cuda_version / 1000, cuda_version % 1000 / 10);
}

std::string gpu_text(const DeviceInfo& gpu) {
  return fmt::format("cuda:{} {} ({})", gpu.ordinal, gpu.name, gpu.arch);
}

void refuse_simulated(const DeviceChoice& choice) {
  if (choice.kind == DeviceChoice::Kind::sim) {
    throw_error(StatusCode::no_device,
                "--device sim: the simulated device is not yet part of this version; name a GPU with cuda:K, or leave "
                "--device out");
  }
}

DeviceInfo choose_gpu(const DeviceChoice& choice, std::string_view arch) {
  refuse_simulated(choice);
  const Machine machine = look_at_machine();
  const auto fits = [&](const DeviceInfo& gpu) {
    return (arch.empty() || gpu.arch == arch) &&
           (choice.kind == DeviceChoice::Kind::automatic || gpu.ordinal == choice.ordinal);
  };
  const auto found = std::find_if(machine.gpus.begin(), machine.gpus.end(), fits);
  if (found != machine.gpus.end()) return *found;
  const std::string wanted = choice.kind == DeviceChoice::Kind::cuda ? fmt::format("cuda:{}", choice.ordinal) : "a GPU";
  throw_error(StatusCode::no_device, "{}{} is needed: {}", wanted,
              arch.empty() ? "" : fmt::format(" of architecture {}", arch), gpus_text(machine));
}

std::shared_ptr<const jit::Nvrtc> open_nvrtc(const ArchLimits& arch) {
  auto nvrtc = jit::Nvrtc::open({}, look_at_machine().driver_version.value_or(0) / 1000);
  const std::vector<int>& known = nvrtc->supported_archs();
  if (std::find(known.begin(), known.end(), 10 * arch.major + arch.minor) == known.end()) {
    throw_error(StatusCode::toolchain,
                "NVRTC {} ({}) cannot compile for {}: set SOFTMAX_DISPATCH_NVRTC to one that can", nvrtc->build(),
                nvrtc->path(), arch.arch);
  }
  return nvrtc;
}

tuning::WorkerCommand worker_command() {
  return {std::filesystem::read_symlink("/proc/self/exe").string(), {"worker"}};
}

RunCache::RunCache() {
  if (const auto directory = env::cache_directory()) {
    path_ = *directory;
  } else {
    path_ = temporary_.emplace().path();
  }
}

}  // namespace softmax_dispatch::cli
