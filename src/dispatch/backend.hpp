#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/device.hpp"
#include "jit/cache.hpp"
#include "jit/compiler.hpp"
#include "variants/variant.hpp"
#include "verify/verify.hpp"

namespace softmax_dispatch::runtime {

/// What a dispatcher takes from outside. The product has two implementations; unit tests put counters and C++ functions
/// in their place. Everything may be called from any thread.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Ordinal of the device of the calling thread's context, as cuda::current_device(). Called on warm calls.
  virtual int current_device() = 0;
  /// The device of that ordinal, alive as long as the process.
  virtual Device& device(int ordinal) = 0;
  virtual bool is_capturing(Stream stream) = 0;
  /// Called on warm calls of kernels with a workspace.
  virtual StreamUse stream_use(Stream stream) = 0;
  /// Id of the context that the calling thread's calls act on; never used again in the process.
  virtual std::uint64_t current_context() = 0;
  /// Calls f(argument) once when the graph of a capture under way and all that is made of it are destroyed; see
  /// cuda::when_destroyed.
  virtual void when_destroyed(void* graph, void (*f)(void*), void* argument) = 0;
  /// Device memory that outlives calls, aligned to 256 bytes and zeroed.
  virtual DevicePtr allocate_zeroed(Device& device, std::size_t bytes) = 0;
  virtual void release(Device& device, DevicePtr pointer) = 0;
  /// Runs work that compiles, allocates and synchronises, so that no capture of another thread is broken by it.
  virtual void run_cold(const std::function<void()>& work) = 0;

  /// Throws Error(toolchain).
  virtual jit::CompiledKernel compile(const std::string& id, const Macros& macros, const std::string& arch) = 0;
  virtual std::shared_ptr<const LoadedKernel> load(Device& device, const jit::CompiledKernel& compiled) = 0;
  virtual verify::Outcome verify(Device& device, const Variant& variant, DType dtype, const Constants& constants,
                                 const LoadedKernel& kernel) = 0;
  /// Where outcomes of verifications outlive the process; may be null.
  virtual std::shared_ptr<jit::Cache> cache() = 0;
};

/// The driver, NVRTC and the user's cache. NVRTC is opened at the first compile() and once per process.
Backend& cuda_backend();

/// The simulated GPU of the architecture in place of the driver, as device 0: launches take matrices in the program's
/// own memory, are complete when they return and ignore their stream. A kernel in which the simulator finds a fault
/// while it is verified has failed; in a launch of a dispatcher the fault is thrown and no later call concerned. One
/// per architecture. Throws Error(no_device) where no GPU of it is simulated.
Backend& sim_backend(const std::string& arch);
/// One of its own, for other sources than the product's. They must outlive it.
std::unique_ptr<Backend> make_sim_backend(const std::string& arch, const jit::Sources& sources);

}  // namespace softmax_dispatch::runtime
