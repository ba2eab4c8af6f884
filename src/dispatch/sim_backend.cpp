#include <map>
#include <memory>
#include <mutex>

#include "device/sim/open.hpp"
#include "dispatch/backend.hpp"
#include "dispatch/toolchain.hpp"

namespace softmax_dispatch::runtime {
namespace {

sim::SimOptions options() {
  sim::SimOptions options;
  options.host_memory = true;
  // Nothing outlives a fault but the values that were written: the next call has a grid of its own.
  options.sticky_faults = false;
  return options;
}

/// A SimDevice is thread-safe as a whole, so that nothing here needs a lock.
class SimBackend final : public Backend {
 public:
  SimBackend(const std::string& arch, const jit::Sources& sources)
      : device_(sim::open(arch, options())), toolchain_(sources, jit::Output::ptx, [] { return 0; }) {}

  int current_device() override { return 0; }
  Device& device(int /*ordinal*/) override { return *device_; }
  bool is_capturing(Stream /*stream*/) override { return false; }
  /// One stream: the device runs launches with a workspace one after the other.
  StreamUse stream_use(Stream /*stream*/) override { return {}; }
  std::uint64_t current_context() override { return 0; }
  void when_destroyed(void* /*graph*/, void (* /*f*/)(void*), void* /*argument*/) override {}  // none is captured
  DevicePtr allocate_zeroed(Device& device, std::size_t bytes) override {
    const DevicePtr made = device.allocate(bytes);
    device.fill(made, 0, bytes);
    return made;
  }
  void release(Device& device, DevicePtr pointer) override { device.release(pointer); }
  void run_cold(const std::function<void()>& work) override { work(); }

  jit::CompiledKernel compile(const std::string& id, const Macros& macros, const std::string& arch) override {
    return toolchain_.compile(id, macros, arch);
  }

  std::shared_ptr<const LoadedKernel> load(Device& device, const jit::CompiledKernel& compiled) override {
    return device.load(compiled.image, compiled.entry, compiled.resources);
  }

  verify::Outcome verify(Device& device, const Variant& variant, DType dtype, const Constants& constants,
                         const LoadedKernel& kernel) override {
    try {
      return verify::run(device, variant, dtype, constants, kernel, verify::Depth::brief);
    } catch (const sim::Fault& fault) {
      // It would be found again at every try, and the device goes on: another kernel can take the place of this one.
      verify::Outcome outcome;
      outcome.reason = fault.what();
      return outcome;
    }
  }

  std::shared_ptr<jit::Cache> cache() override { return toolchain_.cache(); }

 private:
  std::unique_ptr<sim::SimDevice> device_;
  Toolchain toolchain_;
};

}  // namespace

std::unique_ptr<Backend> make_sim_backend(const std::string& arch, const jit::Sources& sources) {
  return std::make_unique<SimBackend>(arch, sources);
}

Backend& sim_backend(const std::string& arch) {
  // Never destroyed, as the backend of hardware.
  static std::mutex mutex;
  static auto& backends = *new std::map<std::string, std::unique_ptr<Backend>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Backend>& slot = backends[arch];
  if (!slot) slot = make_sim_backend(arch, jit::Sources::product());
  return *slot;
}

}  // namespace softmax_dispatch::runtime
