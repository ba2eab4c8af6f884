#include <memory>
#include <mutex>
#include <vector>

#include "device/cuda/cuda.hpp"
#include "device/cuda/cuda_device.hpp"

namespace softmax_dispatch::cuda {
namespace {

struct Slot {
  std::once_flag once;
  std::unique_ptr<CudaDevice> device;
};

}  // namespace

std::unique_ptr<Device> open(int ordinal) {
  return std::make_unique<CudaDevice>(ordinal, ContextRule::primary);
}

Device& current_context_device(int ordinal) {
  // Never destroyed: at the process's end the driver may be gone before static objects are.
  static std::vector<Slot>& slots = *new std::vector<Slot>(static_cast<std::size_t>(device_count()));
  check_ordinal(ordinal, static_cast<int>(slots.size()));
  Slot& slot = slots[static_cast<std::size_t>(ordinal)];
  std::call_once(slot.once, [&] { slot.device = std::make_unique<CudaDevice>(ordinal, ContextRule::current); });
  return *slot.device;
}

}  // namespace softmax_dispatch::cuda
