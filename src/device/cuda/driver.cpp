#include "device/cuda/driver.hpp"

#include "support/dynamic_library.hpp"
#include "support/error.hpp"

namespace softmax_dispatch::cuda {
namespace {

constexpr int kLeastVersion = 12000;
constexpr const char* kInstall = "install NVIDIA driver 525 or newer";

/// "12.4" of 12040.
std::string release(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string describe(const Driver& driver, CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.GetErrorName(result, &name) != CUDA_SUCCESS || !name) name = "an error that this driver cannot name";
  if (driver.GetErrorString(result, &text) != CUDA_SUCCESS || !text) text = "no description";
  return fmt::format("{} ({}), {}", name, static_cast<int>(result), text);
}

template <typename Function>
void resolve(PFN_cuGetProcAddress_v12000 get_address, const char* name, int version, Function& function) {
  void* address = nullptr;
  CUdriverProcAddressQueryResult found{};
  const CUresult result = get_address(name, &address, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &found);
  if (result != CUDA_SUCCESS || !address) {
    throw_error(StatusCode::no_device, "the NVIDIA driver has no {} of CUDA {}: {}", name, release(version), kInstall);
  }
  function = reinterpret_cast<Function>(address);
}

int version_of(const DynamicLibrary& library) {
  int version = 0;
  const auto get_version = library.function<PFN_cuDriverGetVersion_v2020>("cuDriverGetVersion");
  if (!get_version || get_version(&version) != CUDA_SUCCESS) {
    throw_error(StatusCode::no_device, "{} is not the NVIDIA driver's library: it does not tell its version; {}",
                library.path(), kInstall);
  }
  return version;
}

/// Whether the context can only be destroyed after the error: every later call in it fails too.
bool is_sticky(CUresult result) noexcept {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
      return true;
    default:
      return false;
  }
}

}  // namespace

Driver load_driver(const std::string& library_name) {
  const DynamicLibrary library(library_name);
  if (!library.ok()) {
    throw_error(StatusCode::no_device,
                "no NVIDIA driver: cannot open {} ({}). On a machine with an NVIDIA GPU, {}; in a container, pass the "
                "GPU through (docker run --gpus all)",
                library_name, library.error(), kInstall);
  }
  Driver driver;
  driver.version = version_of(library);
  const auto get_address = library.function<PFN_cuGetProcAddress_v12000>("cuGetProcAddress_v2");
  if (driver.version < kLeastVersion || !get_address) {
    throw_error(StatusCode::no_device, "the NVIDIA driver is of CUDA {}, and 12.0 is the oldest that works: {}",
                release(driver.version), kInstall);
  }
#define SOFTMAX_DISPATCH_RESOLVE(name, version) resolve(get_address, "cu" #name, version, driver.name);
  SOFTMAX_DISPATCH_DRIVER_FUNCTIONS(SOFTMAX_DISPATCH_RESOLVE)
#undef SOFTMAX_DISPATCH_RESOLVE

  const CUresult result = driver.Init(0);
  if (result == CUDA_ERROR_NO_DEVICE) {
    throw_error(StatusCode::no_device,
                "the NVIDIA driver (CUDA {}) finds no GPU: {}. See whether nvidia-smi lists one and whether "
                "CUDA_VISIBLE_DEVICES hides it",
                release(driver.version), describe(driver, result));
  }
  if (result != CUDA_SUCCESS) {
    throw_error(StatusCode::no_device,
                "the NVIDIA driver (CUDA {}) does not start: {}. See whether nvidia-smi works; after an update of "
                "the driver the machine must be restarted",
                release(driver.version), describe(driver, result));
  }
  return driver;
}

const Driver& driver() {
  static const Driver instance = load_driver();
  return instance;
}

void fail(CUresult result, const std::string& action) {
  throw_error(StatusCode::device, "cannot {}: {}{}", action, describe(driver(), result),
              is_sticky(result) ? "; a kernel that ran before broke the CUDA context, and every later call in this "
                                  "process fails too"
                                : "");
}

}  // namespace softmax_dispatch::cuda
