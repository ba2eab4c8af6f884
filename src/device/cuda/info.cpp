#include <array>
#include <string>

#include "device/cuda/cuda.hpp"
#include "device/cuda/cuda_device.hpp"

namespace softmax_dispatch::cuda {
namespace {

int attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  check(driver().DeviceGetAttribute(&value, which, device), "read attribute {} of device {}", static_cast<int>(which),
        device);
  return value;
}

/// Newer drivers may answer 0, or that there is no such attribute.
int optional_attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  return driver().DeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

ArchLimits limits_of(CUdevice device) {
  ArchLimits limits;
  limits.major = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  limits.minor = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  limits.arch = fmt::format("sm_{}{}", limits.major, limits.minor);
  limits.max_threads_per_block = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  limits.max_threads_per_sm = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  limits.max_blocks_per_sm = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  limits.registers_per_sm = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  limits.shared_bytes_per_sm = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  limits.shared_bytes_per_block = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  limits.shared_bytes_per_block_optin = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  return limits;
}

}  // namespace

int driver_version() {
  return driver().version;
}

int device_count() {
  int count = 0;
  check(driver().DeviceGetCount(&count), "count the GPUs");
  return count;
}

DeviceInfo device_info(int ordinal) {
  check_ordinal(ordinal, device_count());
  CUdevice device = 0;
  check(driver().DeviceGet(&device, ordinal), "find device {}", ordinal);
  std::array<char, 256> name{};
  check(driver().DeviceGetName(name.data(), static_cast<int>(name.size()), device), "read the name of device {}",
        ordinal);
  std::size_t memory_bytes = 0;
  check(driver().DeviceTotalMem(&memory_bytes, device), "read the memory size of device {}", ordinal);

  DeviceInfo info;
  info.name = name.data();
  info.limits = limits_of(device);
  info.arch = info.limits.arch;
  info.ordinal = ordinal;
  info.sm_count = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.l2_bytes = attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  info.memory_bytes = static_cast<std::int64_t>(memory_bytes);
  info.memory_bus_bits = optional_attribute(device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  info.sm_clock_khz = optional_attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  info.memory_clock_khz = optional_attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  info.driver_version = driver().version;
  return info;
}

}  // namespace softmax_dispatch::cuda
