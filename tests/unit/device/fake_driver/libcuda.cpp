// A stand-in for libcuda.so.1 with two devices whose memory is the host's. Work runs when it is enqueued, or at each
// launch of the graph it was captured into; time is counted, not taken.
#include <cuda.h>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "unit/device/fake_driver/state.hpp"

namespace {

using Operation = std::function<void()>;
using Operations = std::vector<Operation>;

FakeDriverState g_state;
thread_local CUcontext t_context = nullptr;
thread_local CUstreamCaptureMode t_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/// As the driver's: what holds it last destroys it.
using UserObject = std::shared_ptr<void>;
struct Graph {
  Operations operations;
  std::vector<UserObject> objects;
};
struct Stream {
  unsigned long long id = 0, capture = 0;
  Graph* capturing = nullptr;
  bool invalidated = false;  ///< The capture under way: a call that it forbids was made.
};
struct Event {
  double time_us = 0;
};

template <typename Handle, typename T>
Handle handle_of(T* object) {
  return reinterpret_cast<Handle>(object);
}
Stream* stream_of(CUstream stream) {
  return reinterpret_cast<Stream*>(stream);
}

CUresult enqueue(CUstream stream, Operation operation) {
  if (!t_context) return CUDA_ERROR_INVALID_CONTEXT;
  if (!stream) ++g_state.legacy_stream_uses;
  if (stream && stream_of(stream)->capturing) {
    stream_of(stream)->capturing->operations.push_back(std::move(operation));
  } else {
    operation();
  }
  return CUDA_SUCCESS;
}

CUresult get_attribute(int* value, CUdevice_attribute which, CUdevice) {
  static const std::map<int, int> values{
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 5},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 16},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 65536},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 65536},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 40},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4 << 20},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 256},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1590000},
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 5001000},
  };
  if (which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) {
    *value = g_state.compute_major;
    return CUDA_SUCCESS;
  }
  const auto found = values.find(which);
  if (found == values.end()) return CUDA_ERROR_INVALID_VALUE;
  *value = found->second;
  return which == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE ? static_cast<CUresult>(g_state.memory_clock_result)
                                                        : CUDA_SUCCESS;
}

CUresult launch(FakeDriverState::Launch launch, CUstream stream, void** parameters) {
  if (g_state.launch_result != 0) return static_cast<CUresult>(g_state.launch_result);
  std::memcpy(&launch.x, parameters[0], 8);
  std::memcpy(&launch.y, parameters[1], 8);
  std::memcpy(&launch.M, parameters[2], 8);
  std::memcpy(&launch.N, parameters[3], 8);
  std::memcpy(&launch.workspace, parameters[4], 8);
  std::memcpy(&launch.phase, parameters[5], 4);
  std::memcpy(&launch.parts, parameters[6], 4);
  return enqueue(stream, [launch] {
    g_state.launches.push_back(launch);
    g_state.now_us += launch.grid;
  });
}
CUresult launch_kernel(CUfunction, unsigned grid, unsigned, unsigned, unsigned block, unsigned, unsigned,
                       unsigned shared_bytes, CUstream stream, void** parameters, void**) {
  return launch({grid, block, shared_bytes}, stream, parameters);
}
CUresult launch_kernel_ex(const CUlaunchConfig* config, CUfunction, void** parameters, void**) {
  FakeDriverState::Launch one{config->gridDimX, config->blockDimX, config->sharedMemBytes};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttributeValue& value = config->attrs[i].value;
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      one.cluster = value.clusterDim.x * value.clusterDim.y * value.clusterDim.z;
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) one.cooperative = value.cooperative != 0;
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
      one.overlaps = value.programmaticStreamSerializationAllowed != 0;
  }
  return launch(one, config->hStream, parameters);
}

CUresult copy(CUstream stream, void* to, const void* from, std::size_t bytes) {
  return enqueue(stream, [=] {
    std::memcpy(to, from, bytes);
    g_state.now_us += static_cast<double>(bytes) * 1e-3;
  });
}
void* pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

template <typename Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

const std::map<std::string, void*>& entry_points() {
  static const std::map<std::string, void*> all{
      {"cuInit", address_of(+[](unsigned) { return static_cast<CUresult>(g_state.init_result); })},
      {"cuGetErrorName", address_of(+[](CUresult, const char** text) {
         *text = "CUDA_ERROR_OF_THE_FAKE";
         return CUDA_SUCCESS;
       })},
      {"cuGetErrorString", address_of(+[](CUresult, const char** text) {
         *text = "a description";
         return CUDA_SUCCESS;
       })},
      {"cuDeviceGetCount", address_of(+[](int* count) {
         *count = 2;
         return CUDA_SUCCESS;
       })},
      {"cuDeviceGet", address_of(+[](CUdevice* device, int ordinal) {
         *device = ordinal;
         return CUDA_SUCCESS;
       })},
      {"cuDeviceGetName", address_of(+[](char* name, int size, CUdevice device) {
         std::strncpy(name, device == 0 ? "Fake T4" : "Fake T4 Ti", static_cast<std::size_t>(size));
         return CUDA_SUCCESS;
       })},
      {"cuDeviceTotalMem", address_of(+[](std::size_t* bytes, CUdevice) {
         *bytes = std::size_t{16} << 30;
         return CUDA_SUCCESS;
       })},
      {"cuDeviceGetAttribute", address_of(&get_attribute)},
      {"cuDevicePrimaryCtxRetain", address_of(+[](CUcontext* context, CUdevice device) {
         static int contexts[2];
         *context = handle_of<CUcontext>(&contexts[device]);
         contexts[device] = device;
         ++g_state.live_contexts;
         return CUDA_SUCCESS;
       })},
      {"cuDevicePrimaryCtxRelease", address_of(+[](CUdevice) {
         --g_state.live_contexts;
         return CUDA_SUCCESS;
       })},
      {"cuCtxGetCurrent", address_of(+[](CUcontext* context) {
         *context = t_context;
         return CUDA_SUCCESS;
       })},
      {"cuCtxSetCurrent", address_of(+[](CUcontext context) {
         t_context = context;
         return CUDA_SUCCESS;
       })},
      {"cuCtxGetDevice", address_of(+[](CUdevice* device) {
         if (!t_context) return CUDA_ERROR_INVALID_CONTEXT;
         *device = *reinterpret_cast<int*>(t_context);
         return CUDA_SUCCESS;
       })},
      {"cuCtxGetId", address_of(+[](CUcontext, unsigned long long* id) {
         if (!t_context) return CUDA_ERROR_INVALID_CONTEXT;
         *id = reinterpret_cast<std::uintptr_t>(t_context);
         return CUDA_SUCCESS;
       })},
      {"cuCtxSynchronize", address_of(+[] { return t_context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT; })},
      {"cuMemAlloc", address_of(+[](CUdeviceptr* address, std::size_t bytes) {
         if (!t_context) return CUDA_ERROR_INVALID_CONTEXT;
         if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
         if (bytes > std::size_t{1} << 40) return CUDA_ERROR_OUT_OF_MEMORY;
         *address = reinterpret_cast<CUdeviceptr>(new char[bytes]);
         ++g_state.live_memory;
         return CUDA_SUCCESS;
       })},
      {"cuMemFree", address_of(+[](CUdeviceptr address) {
         if (!t_context) return CUDA_ERROR_INVALID_CONTEXT;
         delete[] static_cast<char*>(pointer(address));
         --g_state.live_memory;
         return CUDA_SUCCESS;
       })},
      {"cuMemcpyHtoDAsync", address_of(+[](CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
         return copy(stream, pointer(to), from, bytes);
       })},
      {"cuMemcpyDtoHAsync", address_of(+[](void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
         return copy(stream, to, pointer(from), bytes);
       })},
      {"cuMemcpyDtoDAsync", address_of(+[](CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
         return copy(stream, pointer(to), pointer(from), bytes);
       })},
      {"cuMemsetD8Async", address_of(+[](CUdeviceptr to, unsigned char byte, std::size_t bytes, CUstream stream) {
         return enqueue(stream, [=] {
           std::memset(pointer(to), byte, bytes);
           g_state.now_us += 1;
         });
       })},
      {"cuLibraryLoadData", address_of(+[](CUlibrary* library, const void* image, CUjit_option*, void**, unsigned,
                                           CUlibraryOption*, void**, unsigned) {
         if (std::strncmp(static_cast<const char*>(image), "cubin", 5) != 0) return CUDA_ERROR_INVALID_IMAGE;
         *library = handle_of<CUlibrary>(new char);
         ++g_state.live_libraries;
         return CUDA_SUCCESS;
       })},
      {"cuLibraryUnload", address_of(+[](CUlibrary library) {
         delete reinterpret_cast<char*>(library);
         --g_state.live_libraries;
         return CUDA_SUCCESS;
       })},
      {"cuLibraryGetKernel", address_of(+[](CUkernel* kernel, CUlibrary library, const char* name) {
         if (std::strcmp(name, "entry") != 0) return CUDA_ERROR_NOT_FOUND;
         *kernel = reinterpret_cast<CUkernel>(library);
         return CUDA_SUCCESS;
       })},
      {"cuKernelGetAttribute", address_of(+[](int* value, CUfunction_attribute, CUkernel, CUdevice) {
         *value = 1000;
         return CUDA_SUCCESS;
       })},
      {"cuKernelSetAttribute", address_of(+[](CUfunction_attribute which, int value, CUkernel, CUdevice) {
         if (which == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) g_state.large_clusters_allowed = value != 0;
         if (which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) g_state.dynamic_shared_bytes_allowed = value;
         return CUDA_SUCCESS;
       })},
      {"cuKernelGetFunction", address_of(+[](CUfunction* function, CUkernel kernel) {
         *function = reinterpret_cast<CUfunction>(kernel);
         return t_context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
       })},
      {"cuFuncGetAttribute", address_of(+[](int* value, CUfunction_attribute, CUfunction) {
         *value = 32;
         return CUDA_SUCCESS;
       })},
      {"cuOccupancyMaxActiveBlocksPerMultiprocessor", address_of(+[](int* blocks, CUfunction, int, std::size_t) {
         *blocks = g_state.blocks_per_sm;
         return CUDA_SUCCESS;
       })},
      {"cuOccupancyMaxActiveClusters", address_of(+[](int* clusters, CUfunction, const CUlaunchConfig*) {
         *clusters = 20 * g_state.blocks_per_sm;
         return static_cast<CUresult>(g_state.occupancy_result);
       })},
      {"cuLaunchKernel", address_of(&launch_kernel)},
      {"cuLaunchKernelEx", address_of(&launch_kernel_ex)},
      {"cuStreamCreate", address_of(+[](CUstream* stream, unsigned) {
         if (!t_context) return CUDA_ERROR_INVALID_CONTEXT;
         *stream = handle_of<CUstream>(new Stream{.id = ++g_state.ids});
         ++g_state.live_streams;
         return CUDA_SUCCESS;
       })},
      {"cuStreamDestroy", address_of(+[](CUstream stream) {
         delete stream_of(stream);
         --g_state.live_streams;
         return CUDA_SUCCESS;
       })},
      {"cuStreamSynchronize", address_of(+[](CUstream stream) {
         if (!stream) ++g_state.legacy_stream_uses;
         return CUDA_SUCCESS;
       })},
      {"cuStreamGetId", address_of(+[](CUstream stream, unsigned long long* id) {
         if (stream && stream_of(stream)->capturing) {
           stream_of(stream)->invalidated = true;
           return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
         }
         *id = stream ? stream_of(stream)->id : 1000000;
         return CUDA_SUCCESS;
       })},
      {"cuStreamBeginCapture", address_of(+[](CUstream stream, CUstreamCaptureMode) {
         if (stream_of(stream)->capturing) return CUDA_ERROR_ILLEGAL_STATE;
         stream_of(stream)->capturing = new Graph;
         stream_of(stream)->capture = ++g_state.ids;
         stream_of(stream)->invalidated = false;
         ++g_state.live_graphs;
         return CUDA_SUCCESS;
       })},
      {"cuStreamEndCapture", address_of(+[](CUstream stream, CUgraph* graph) {
         Graph* const captured = std::exchange(stream_of(stream)->capturing, nullptr);
         *graph = nullptr;
         if (stream_of(stream)->invalidated) {
           delete captured;
           --g_state.live_graphs;
           return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
         }
         *graph = handle_of<CUgraph>(captured);
         return CUDA_SUCCESS;
       })},
      {"cuStreamIsCapturing", address_of(+[](CUstream stream, CUstreamCaptureStatus* status) {
         if (!stream && g_state.other_stream_captures) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
         const bool capturing = stream && stream_of(stream)->capturing;
         *status = capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
         return CUDA_SUCCESS;
       })},
      {"cuStreamGetCaptureInfo", address_of(+[](CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                                CUgraph* graph, const CUgraphNode**, std::size_t*) {
         if (!stream && g_state.other_stream_captures) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
         *status = CU_STREAM_CAPTURE_STATUS_NONE;
         if (!stream || !stream_of(stream)->capturing) return CUDA_SUCCESS;
         *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
         *id = stream_of(stream)->capture;
         *graph = handle_of<CUgraph>(stream_of(stream)->capturing);
         return CUDA_SUCCESS;
       })},
      {"cuUserObjectCreate", address_of(+[](CUuserObject* object, void* argument, CUhostFn f, unsigned, unsigned) {
         if (g_state.user_object_result != 0) return static_cast<CUresult>(g_state.user_object_result);
         *object = handle_of<CUuserObject>(new UserObject(argument, [f](void* of) {
           --g_state.live_user_objects;
           f(of);
         }));
         ++g_state.live_user_objects;
         return CUDA_SUCCESS;
       })},
      {"cuUserObjectRelease", address_of(+[](CUuserObject object, unsigned) {
         delete reinterpret_cast<UserObject*>(object);
         return CUDA_SUCCESS;
       })},
      {"cuGraphRetainUserObject", address_of(+[](CUgraph graph, CUuserObject object, unsigned, unsigned flags) {
         if (g_state.retain_result != 0) return static_cast<CUresult>(g_state.retain_result);
         if (flags != CU_GRAPH_USER_OBJECT_MOVE) return CUDA_ERROR_INVALID_VALUE;
         auto* const held = reinterpret_cast<UserObject*>(object);
         reinterpret_cast<Graph*>(graph)->objects.push_back(*held);
         delete held;
         return CUDA_SUCCESS;
       })},
      {"cuThreadExchangeStreamCaptureMode", address_of(+[](CUstreamCaptureMode* mode) {
         std::swap(*mode, t_mode);
         return CUDA_SUCCESS;
       })},
      {"cuGraphInstantiateWithFlags", address_of(+[](CUgraphExec* instance, CUgraph graph, unsigned long long) {
         *instance = handle_of<CUgraphExec>(new Graph(*reinterpret_cast<Graph*>(graph)));
         ++g_state.live_graphs;
         return CUDA_SUCCESS;
       })},
      {"cuGraphUpload", address_of(+[](CUgraphExec, CUstream) { return CUDA_SUCCESS; })},
      {"cuGraphLaunch", address_of(+[](CUgraphExec instance, CUstream stream) {
         return enqueue(stream, [instance] {
           for (const Operation& operation : reinterpret_cast<Graph*>(instance)->operations) operation();
         });
       })},
      {"cuGraphDestroy", address_of(+[](CUgraph graph) {
         delete reinterpret_cast<Graph*>(graph);
         --g_state.live_graphs;
         return CUDA_SUCCESS;
       })},
      {"cuGraphExecDestroy", address_of(+[](CUgraphExec instance) {
         delete reinterpret_cast<Graph*>(instance);
         --g_state.live_graphs;
         return CUDA_SUCCESS;
       })},
      {"cuEventCreate", address_of(+[](CUevent* event, unsigned) {
         *event = handle_of<CUevent>(new Event);
         ++g_state.live_events;
         return CUDA_SUCCESS;
       })},
      {"cuEventRecord", address_of(+[](CUevent event, CUstream stream) {
         return enqueue(stream, [event] { reinterpret_cast<Event*>(event)->time_us = g_state.now_us; });
       })},
      {"cuEventSynchronize", address_of(+[](CUevent) { return CUDA_SUCCESS; })},
      {"cuEventElapsedTime", address_of(+[](float* ms, CUevent start, CUevent stop) {
         *ms = static_cast<float>((reinterpret_cast<Event*>(stop)->time_us - reinterpret_cast<Event*>(start)->time_us) *
                                  1e-3);
         return CUDA_SUCCESS;
       })},
      {"cuEventDestroy", address_of(+[](CUevent event) {
         delete reinterpret_cast<Event*>(event);
         --g_state.live_events;
         return CUDA_SUCCESS;
       })},
  };
  return all;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED FakeDriverState* fake_driver_state() {
  return &g_state;
}

EXPORTED CUresult CUDAAPI cuDriverGetVersion(int* version) {
  *version = g_state.version;
  return CUDA_SUCCESS;
}

EXPORTED CUresult CUDAAPI cuGetProcAddress_v2(const char* name, void** address, int version, cuuint64_t,
                                              CUdriverProcAddressQueryResult*) {
  const auto found = entry_points().find(name);
  *address = nullptr;
  // What the library asks for must exist in the oldest driver that it takes.
  if (found == entry_points().end() || name == g_state.missing || version > 12000) return CUDA_ERROR_NOT_FOUND;
  *address = found->second;
  return CUDA_SUCCESS;
}
