#pragma once

#include <cudaTypedefs.h>
#include <fmt/core.h>

#include <string>
#include <utility>

/// Entry points of the driver as F(name without "cu", CUDA version of its binary interface). Every version is one that
/// CUDA 12.0 knows, and is asked for by number, whatever symbol the toolkit's header renames it to.
#define SOFTMAX_DISPATCH_DRIVER_FUNCTIONS(F)         \
  F(Init, 2000)                                      \
  F(GetErrorName, 6000)                              \
  F(GetErrorString, 6000)                            \
  F(DeviceGetCount, 2000)                            \
  F(DeviceGet, 2000)                                 \
  F(DeviceGetName, 2000)                             \
  F(DeviceTotalMem, 3020)                            \
  F(DeviceGetAttribute, 2000)                        \
  F(DevicePrimaryCtxRetain, 7000)                    \
  F(DevicePrimaryCtxRelease, 11000)                  \
  F(CtxGetCurrent, 4000)                             \
  F(CtxSetCurrent, 4000)                             \
  F(CtxGetDevice, 2000)                              \
  F(CtxGetId, 12000)                                 \
  F(CtxSynchronize, 2000)                            \
  F(MemAlloc, 3020)                                  \
  F(MemFree, 3020)                                   \
  F(MemcpyHtoDAsync, 3020)                           \
  F(MemcpyDtoHAsync, 3020)                           \
  F(MemcpyDtoDAsync, 3020)                           \
  F(MemsetD8Async, 3020)                             \
  F(LibraryLoadData, 12000)                          \
  F(LibraryUnload, 12000)                            \
  F(LibraryGetKernel, 12000)                         \
  F(KernelGetAttribute, 12000)                       \
  F(KernelSetAttribute, 12000)                       \
  F(KernelGetFunction, 12000)                        \
  F(FuncGetAttribute, 2020)                          \
  F(OccupancyMaxActiveBlocksPerMultiprocessor, 6050) \
  F(OccupancyMaxActiveClusters, 11070)               \
  F(LaunchKernel, 4000)                              \
  F(LaunchKernelEx, 11060)                           \
  F(StreamCreate, 2000)                              \
  F(StreamDestroy, 4000)                             \
  F(StreamSynchronize, 2000)                         \
  F(StreamBeginCapture, 10010)                       \
  F(StreamEndCapture, 10000)                         \
  F(StreamIsCapturing, 10000)                        \
  F(StreamGetId, 12000)                              \
  F(StreamGetCaptureInfo, 11030)                     \
  F(ThreadExchangeStreamCaptureMode, 10010)          \
  F(GraphInstantiateWithFlags, 11040)                \
  F(GraphUpload, 11010)                              \
  F(UserObjectCreate, 11030)                         \
  F(UserObjectRelease, 11030)                        \
  F(GraphRetainUserObject, 11030)                    \
  F(GraphLaunch, 10000)                              \
  F(GraphDestroy, 10000)                             \
  F(GraphExecDestroy, 10000)                         \
  F(EventCreate, 2000)                               \
  F(EventRecord, 2000)                               \
  F(EventSynchronize, 2000)                          \
  F(EventElapsedTime, 2000)                          \
  F(EventDestroy, 4000)

namespace softmax_dispatch::cuda {

/// The driver's functions, under their names without "cu".
struct Driver {
  int version = 0;  ///< 1000 * major + 10 * minor.
#define SOFTMAX_DISPATCH_MEMBER(name, version) PFN_cu##name##_v##version name = nullptr;
  SOFTMAX_DISPATCH_DRIVER_FUNCTIONS(SOFTMAX_DISPATCH_MEMBER)
#undef SOFTMAX_DISPATCH_MEMBER
};

/// Opens and initialises the driver. Throws Error(no_device) where it is not there or cannot be used.
Driver load_driver(const std::string& library = "libcuda.so.1");

/// load_driver() at the first call; after an error again at the next.
const Driver& driver();

/// Throws Error(device): "cannot <action>: NAME (number), the driver's description".
[[noreturn]] void fail(CUresult result, const std::string& action);

/// check(result, "allocate {} bytes", bytes): throws where the result is an error; formats only then.
template <typename... Args>
void check(CUresult result, fmt::format_string<Args...> action, Args&&... args) {
  if (result != CUDA_SUCCESS) [[unlikely]] {
    fail(result, fmt::format(action, std::forward<Args>(args)...));
  }
}

}  // namespace softmax_dispatch::cuda
