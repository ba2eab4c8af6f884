#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.hpp"
#include "device/device.hpp"
#include "jit/nvrtc.hpp"
#include "support/files.hpp"
#include "tuning/worker.hpp"

/// What the machine has: GPUs, NVRTC, a cache folder, this very program.
namespace softmax_dispatch::cli {

struct Machine {
  std::optional<int> driver_version;  ///< 1000 * major + 10 * minor.
  std::vector<DeviceInfo> gpus;
  std::string why_none;  ///< Why there is no driver or no GPU; "" where there is one.
};
Machine look_at_machine();

std::string version_text(int cuda_version);   ///< 13000 -> "13.0"
std::string gpu_text(const DeviceInfo& gpu);  ///< "cuda:0 NVIDIA H200 (sm_90)", "the simulated Tesla T4 (sm_75)"

/// What --device names, of architecture `arch` (empty: any). Where it names nothing: a GPU, else the simulated GPU of
/// the architecture. Throws Error(no_device), saying which GPUs there are and which are simulated.
DeviceInfo choose_device(const DeviceChoice& choice, std::string_view arch);

/// Whether that is a simulated GPU, for commands that need none: an architecture without any is no error.
bool is_simulated(const DeviceChoice& choice, std::string_view arch);

/// Where the device is simulated and nobody asked for that: says so on stderr. `doing` is what it is used for: "tuning
/// for".
void announce_simulated(const DeviceInfo& device, const DeviceChoice& choice, std::string_view doing);

/// For a worker on the device.
tuning::WorkerSettings worker_settings(const DeviceInfo& device, const std::filesystem::path& cache,
                                       const std::string& nvrtc);

/// The NVRTC that fits the driver, where there is one. Throws Error(toolchain), also where it does not know `arch`.
std::shared_ptr<const jit::Nvrtc> open_nvrtc(const ArchLimits& arch);

/// How to start this program as a worker.
tuning::WorkerCommand worker_command();

/// Folder of the cubin cache for one run: the user's, or one that is removed at the end where the cache is off.
class RunCache {
 public:
  RunCache();
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::optional<TemporaryDirectory> temporary_;
  std::filesystem::path path_;
};

}  // namespace softmax_dispatch::cli
