#include <mutex>

#include "device/cuda/cuda.hpp"
#include "dispatch/backend.hpp"
#include "dispatch/toolchain.hpp"

namespace softmax_dispatch::runtime {
namespace {

class CudaBackend final : public Backend {
 public:
  int current_device() override { return cuda::current_device(); }
  Device& device(int ordinal) override { return cuda::current_context_device(ordinal); }
  bool is_capturing(Stream stream) override { return cuda::is_capturing(stream); }
  StreamUse stream_use(Stream stream) override { return cuda::stream_use(stream); }
  std::uint64_t current_context() override { return cuda::current_context(); }
  void when_destroyed(void* graph, void (*f)(void*), void* argument) override {
    cuda::when_destroyed(graph, f, argument);
  }

  DevicePtr allocate_zeroed(Device& device, std::size_t bytes) override {
    const std::lock_guard lock(device_mutex_);
    Buffer made(device, bytes);
    device.fill(made.get(), 0, bytes);
    return made.give();
  }
  void release(Device& device, DevicePtr pointer) override {
    const std::lock_guard lock(device_mutex_);
    device.release(pointer);
  }

  void run_cold(const std::function<void()>& work) override {
    const cuda::RelaxedCapture relaxed;
    work();
  }

  jit::CompiledKernel compile(const std::string& id, const Macros& macros, const std::string& arch) override {
    return toolchain_.compile(id, macros, arch);
  }

  std::shared_ptr<const LoadedKernel> load(Device& device, const jit::CompiledKernel& compiled) override {
    const std::lock_guard lock(device_mutex_);
    return device.load(compiled.image, compiled.entry, compiled.resources);
  }

  verify::Outcome verify(Device& device, const Variant& variant, DType dtype, const Constants& constants,
                         const LoadedKernel& kernel) override {
    const std::lock_guard lock(device_mutex_);
    return verify::run(device, variant, dtype, constants, kernel, verify::Depth::brief);
  }

  std::shared_ptr<jit::Cache> cache() override { return toolchain_.cache(); }

 private:
  /// Every dispatcher of the process shares the Device objects, which are not thread-safe but for launches.
  std::mutex device_mutex_;
  // A cubin of a newer toolkit than the driver's does not load.
  Toolchain toolchain_{jit::Sources::product(), jit::Output::cubin, [] { return cuda::driver_version() / 1000; }};
};

}  // namespace

Backend& cuda_backend() {
  // Never destroyed: a static dispatcher of the host program may still be used while the process ends.
  static Backend& instance = *new CudaBackend;
  return instance;
}

}  // namespace softmax_dispatch::runtime
