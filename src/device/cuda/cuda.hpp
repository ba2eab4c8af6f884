#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"

/// The CUDA implementation of the device interface, without a CUDA type in sight. libcuda.so.1 is opened at the first
/// call.
namespace softmax_dispatch::cuda {

/// CUDA version of the driver as 1000 * major + 10 * minor. Throws Error(no_device) where there is no usable driver,
/// saying what to install.
int driver_version();

/// Number of GPUs; throws as driver_version().
int device_count();

/// Identity and limits, without creating a context.
DeviceInfo device_info(int ordinal);

/// The device on its primary context, retained until destruction and made current on the calling thread.
std::unique_ptr<Device> open(int ordinal);

/// Ordinal of the calling thread's current context; where there is none, device 0's primary context is retained for the
/// life of the process and made current first, as the CUDA runtime does.
int current_device();

/// The device of `ordinal` on whatever context is current when a function is called: what a library inside somebody's
/// program uses. Lives as long as the process; one object per ordinal.
Device& current_context_device(int ordinal);

/// Whether the stream is being captured. The legacy default stream (null) never is; to ask breaks nobody's capture.
bool is_capturing(Stream stream);

StreamUse stream_use(Stream stream);

/// Id of the calling thread's current context; never used again in the process.
std::uint64_t current_context();

/// Calls f(argument) once when the graph of a capture that is under way, its clones, what was instantiated of them and
/// their launches are all gone: on any thread, where f must not call CUDA. Where the driver refuses, f is called before
/// this throws.
void when_destroyed(void* graph, void (*f)(void*), void* argument);

/// While alive, CUDA calls of this thread that are unsafe during a capture don't break a capture of another thread.
class RelaxedCapture {
 public:
  RelaxedCapture();
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  int previous_ = 0;
};

}  // namespace softmax_dispatch::cuda
