#include <cstdint>

#include "device/cuda/cuda.hpp"
#include "device/cuda/handles.hpp"

namespace softmax_dispatch::cuda {

int current_device() {
  CUcontext context = nullptr;
  check(driver().CtxGetCurrent(&context), "get the current context");
  if (!context) {
    // Never released: other code may have come to rely on the context by the time this library's objects are destroyed.
    static const PrimaryContext& fallback = *new PrimaryContext(0);
    fallback.make_current();
  }
  CUdevice device = 0;
  check(driver().CtxGetDevice(&device), "get the device of the current context");
  return device;  // a CUdevice is the ordinal
}

bool is_capturing(Stream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = driver().StreamIsCapturing(stream, &status);
  // The legacy default stream cannot be captured; the driver refuses to answer while another stream that is ordered
  // with it is, and leaves that capture alone.
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return false;
  check(result, "ask whether a stream is being captured");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

StreamUse stream_use(Stream stream) {
  StreamUse use;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t capture = 0;
  CUgraph graph = nullptr;
  const CUresult result = driver().StreamGetCaptureInfo(stream, &status, &capture, &graph, nullptr, nullptr);
  if (result != CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) check(result, "ask for the capture of a stream");  // is_capturing()
  if (result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE) {
    // The driver does not tell the id of a stream that is being captured: being asked for it ends the capture.
    use.stream = reinterpret_cast<std::uintptr_t>(static_cast<CUstream>(stream));
    use.capture = capture;
    use.graph = graph;
    return use;
  }
  unsigned long long id = 0;
  check(driver().StreamGetId(stream, &id), "identify a stream");
  use.stream = id;
  return use;
}

std::uint64_t current_context() {
  unsigned long long id = 0;
  check(driver().CtxGetId(nullptr, &id), "identify the current context");
  return id;
}

void when_destroyed(void* graph, void (*f)(void*), void* argument) {
  CUuserObject object = nullptr;
  CUresult result = driver().UserObjectCreate(&object, argument, f, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
  if (result != CUDA_SUCCESS) {
    f(argument);
    check(result, "create an object for a graph");
  }
  result = driver().GraphRetainUserObject(static_cast<CUgraph>(graph), object, 1, CU_GRAPH_USER_OBJECT_MOVE);
  if (result == CUDA_SUCCESS) return;
  driver().UserObjectRelease(object, 1);  // calls f
  check(result, "give an object to a graph");
}

RelaxedCapture::RelaxedCapture() {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  check(driver().ThreadExchangeStreamCaptureMode(&mode), "relax the capture mode of the thread");
  previous_ = mode;
}

RelaxedCapture::~RelaxedCapture() {
  auto mode = static_cast<CUstreamCaptureMode>(previous_);
  driver().ThreadExchangeStreamCaptureMode(&mode);
}

}  // namespace softmax_dispatch::cuda
