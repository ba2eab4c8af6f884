#pragma once

#include <memory>

#include "device/cuda/driver.hpp"

/// Owners of the driver's handles. Errors of a destruction are dropped: after a sticky error every one fails.
namespace softmax_dispatch::cuda {

template <auto Destroy>
struct HandleDeleter {
  template <typename T>
  void operator()(T* handle) const noexcept {
    (driver().*Destroy)(handle);
  }
};
using EventHandle = std::unique_ptr<CUevent_st, HandleDeleter<&Driver::EventDestroy>>;
using StreamHandle = std::unique_ptr<CUstream_st, HandleDeleter<&Driver::StreamDestroy>>;
using GraphHandle = std::unique_ptr<CUgraph_st, HandleDeleter<&Driver::GraphDestroy>>;
using GraphExecHandle = std::unique_ptr<CUgraphExec_st, HandleDeleter<&Driver::GraphExecDestroy>>;
using LibraryHandle = std::unique_ptr<CUlib_st, HandleDeleter<&Driver::LibraryUnload>>;

inline EventHandle make_event() {
  CUevent event = nullptr;
  check(driver().EventCreate(&event, CU_EVENT_DEFAULT), "create an event");
  return EventHandle(event);
}

/// Ordered with the legacy default stream, as every stream that is not marked non-blocking.
inline StreamHandle make_stream() {
  CUstream stream = nullptr;
  check(driver().StreamCreate(&stream, CU_STREAM_DEFAULT), "create a stream");
  return StreamHandle(stream);
}

/// A device's primary context, the one that the CUDA runtime uses, retained until destruction.
class PrimaryContext {
 public:
  explicit PrimaryContext(CUdevice device) : device_(device) {
    check(driver().DevicePrimaryCtxRetain(&context_, device), "create the context of device {}", device);
  }
  /// Leaves no dead context current on the thread.
  ~PrimaryContext() {
    CUcontext current = nullptr;
    if (driver().CtxGetCurrent(&current) == CUDA_SUCCESS && current == context_) driver().CtxSetCurrent(nullptr);
    driver().DevicePrimaryCtxRelease(device_);
  }
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  void make_current() const { check(set_current(), "make the context of device {} current", device_); }
  CUresult set_current() const noexcept { return driver().CtxSetCurrent(context_); }

 private:
  CUdevice device_;
  CUcontext context_ = nullptr;
};

}  // namespace softmax_dispatch::cuda
