#include "cli/machine.hpp"

#include <algorithm>
#include <cstdio>

#include "device/cuda/cuda.hpp"
#include "device/sim/open.hpp"
#include "support/env.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace softmax_dispatch::cli {
namespace {

constexpr std::string_view kDefaultArch = "sm_75";  // the oldest that is served

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
  if (gpu.simulated) return fmt::format("the simulated {} ({})", gpu.name, gpu.arch);
  return fmt::format("cuda:{} {} ({})", gpu.ordinal, gpu.name, gpu.arch);
}

DeviceInfo choose_device(const DeviceChoice& choice, std::string_view arch) {
  using Kind = DeviceChoice::Kind;
  const std::string simulated = "simulated are those of " + join(sim::simulated_archs(), ", ");
  if (choice.kind == Kind::sim) {
    if (const auto info = sim::simulated_info(arch.empty() ? kDefaultArch : arch)) return *info;
    throw_error(StatusCode::no_device, "--device sim: no GPU of architecture {} is simulated; {}", arch, simulated);
  }
  const Machine machine = look_at_machine();
  const auto fits = [&](const DeviceInfo& gpu) {
    return (arch.empty() || gpu.arch == arch) && (choice.kind == Kind::automatic || gpu.ordinal == choice.ordinal);
  };
  const auto found = std::find_if(machine.gpus.begin(), machine.gpus.end(), fits);
  if (found != machine.gpus.end()) return *found;
  if (choice.kind == Kind::automatic) {
    if (const auto info = sim::simulated_info(arch)) return *info;
  }
  const std::string wanted = choice.kind == Kind::cuda ? fmt::format("cuda:{}", choice.ordinal) : "a GPU";
  throw_error(StatusCode::no_device, "{}{} is needed: {}; {} (--device sim)", wanted,
              arch.empty() ? "" : fmt::format(" of architecture {}", arch), gpus_text(machine), simulated);
}

bool is_simulated(const DeviceChoice& choice, std::string_view arch) {
  if (choice.kind == DeviceChoice::Kind::automatic && !sim::simulated_info(arch)) return false;
  return choose_device(choice, arch).simulated;
}

void announce_simulated(const DeviceInfo& device, const DeviceChoice& choice, std::string_view doing) {
  if (!device.simulated || choice.kind == DeviceChoice::Kind::sim) return;
  std::fputs(fmt::format("softmax-tune: no GPU of {} here: {} the simulated {} (times are a model's)\n", device.arch,
                         doing, device.name)
                 .c_str(),
             stderr);
}

tuning::WorkerSettings worker_settings(const DeviceInfo& device, const std::filesystem::path& cache,
                                       const std::string& nvrtc) {
  return {device.arch, device.ordinal, cache, nvrtc, device.simulated};
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
