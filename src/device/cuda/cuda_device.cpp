#include "device/cuda/cuda_device.hpp"

#include <algorithm>
#include <array>

#include "device/cuda/cuda.hpp"
#include "device/cuda/launch_config.hpp"

namespace softmax_dispatch::cuda {
namespace {

class CudaKernel final : public LoadedKernel {
 public:
  CudaKernel(LibraryHandle library, CUkernel kernel) : library_(std::move(library)), kernel_(kernel) {}
  CUkernel get() const noexcept { return kernel_; }
  /// The driver takes a CUkernel where it asks for a CUfunction, and finds the function of the context by itself.
  CUfunction function() const noexcept { return reinterpret_cast<CUfunction>(kernel_); }

 private:
  LibraryHandle library_;
  CUkernel kernel_;
};

/// A block may have more than 48 KiB of shared memory only after it was asked for: once here, not at every launch.
void allow_all_shared_memory(const CudaKernel& kernel, const DeviceInfo& info, const std::string& entry) {
  int static_bytes = 0;
  check(driver().KernelGetAttribute(&static_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel.get(), info.ordinal),
        "read the shared memory of kernel {}", entry);
  const int dynamic_bytes = std::max(0, info.limits.shared_bytes_per_block_optin - static_bytes);
  check(driver().KernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic_bytes, kernel.get(),
                                    info.ordinal),
        "allow kernel {} {} bytes of dynamic shared memory", entry, dynamic_bytes);
}

/// The driver loads code lazily: at the first launch, which may be in a capture, and which allocates. This loads it
/// now.
void load_into_context(const CudaKernel& kernel, const std::string& entry) {
  CUfunction function = nullptr;
  check(driver().KernelGetFunction(&function, kernel.get()), "load kernel {} into the context", entry);
  int registers = 0;
  check(driver().FuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function), "load kernel {} into the context",
        entry);
}

/// Clusters of more than 8 blocks, where the device grants them; where not, none of them is resident.
void allow_large_clusters(const CudaKernel& kernel, const DeviceInfo& info) {
  if (info.limits.major < 9) return;
  static_cast<void>(
      driver().KernelSetAttribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, kernel.get(), info.ordinal));
}

[[noreturn]] void fail_launch(CUresult result, const Geometry& geometry) {
  fail(result, fmt::format("launch {} blocks of {} threads with {} bytes of shared memory{}", geometry.grid,
                           geometry.block, geometry.shared_bytes, describe_attributes(geometry)));
}

}  // namespace

CudaDevice::CudaDevice(int ordinal, ContextRule rule) : info_(device_info(ordinal)) {
  if (rule == ContextRule::primary) primary_.emplace(ordinal);
  bind();
}

CudaDevice::~CudaDevice() {
  if (primary_) static_cast<void>(primary_->set_current());
}

DevicePtr CudaDevice::allocate(std::size_t bytes) {
  bind();
  CUdeviceptr pointer = 0;
  check(driver_.MemAlloc(&pointer, std::max<std::size_t>(bytes, 1)), "allocate {} bytes on {}", bytes, info_.name);
  return pointer;
}

void CudaDevice::release(DevicePtr pointer) noexcept {
  if (primary_) static_cast<void>(primary_->set_current());
  driver_.MemFree(pointer);
}

// Never in the legacy default stream, whose use would break a capture that the host program has under way elsewhere.
template <typename Enqueue>
void CudaDevice::transfer(const char* action, std::size_t bytes, Enqueue enqueue) {
  if (bytes == 0) return;
  const CUstream stream = context_stream().stream.get();
  check(enqueue(stream), "{} {} bytes", action, bytes);
  check(driver_.StreamSynchronize(stream), "{} {} bytes", action, bytes);
}

void CudaDevice::upload(DevicePtr to, const void* from, std::size_t bytes) {
  transfer("upload", bytes, [&](CUstream stream) { return driver_.MemcpyHtoDAsync(to, from, bytes, stream); });
}

void CudaDevice::download(void* to, DevicePtr from, std::size_t bytes) {
  transfer("download", bytes, [&](CUstream stream) { return driver_.MemcpyDtoHAsync(to, from, bytes, stream); });
}

void CudaDevice::fill(DevicePtr to, unsigned char byte, std::size_t bytes) {
  transfer("fill", bytes, [&](CUstream stream) { return driver_.MemsetD8Async(to, byte, bytes, stream); });
}

std::shared_ptr<const LoadedKernel> CudaDevice::load(std::string_view image, const std::string& entry,
                                                     const Resources& /*resources*/) {
  bind();
  CUlibrary library = nullptr;
  check(driver_.LibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "load the {} bytes of kernel {}", image.size(), entry);
  LibraryHandle owner(library);
  CUkernel kernel = nullptr;
  check(driver_.LibraryGetKernel(&kernel, library, entry.c_str()), "find kernel {} in its image", entry);
  auto loaded = std::make_shared<const CudaKernel>(std::move(owner), kernel);
  allow_all_shared_memory(*loaded, info_, entry);
  allow_large_clusters(*loaded, info_);
  load_into_context(*loaded, entry);
  return loaded;
}

std::int64_t CudaDevice::resident_blocks(const LoadedKernel& kernel, const Geometry& geometry) {
  bind();
  const CUfunction function = static_cast<const CudaKernel&>(kernel).function();
  if (geometry.cluster > 1) {
    if (info_.limits.major < 9) return 0;
    const LaunchConfig config(geometry, false, {});
    int clusters = 0;
    // The driver's refusal to answer means that no such cluster fits the GPU.
    if (driver_.OccupancyMaxActiveClusters(&clusters, function, &config.get()) != CUDA_SUCCESS) return 0;
    return std::int64_t{clusters} * geometry.cluster;
  }
  int blocks = 0;
  check(driver_.OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, geometry.block,
                                                          static_cast<std::size_t>(geometry.shared_bytes)),
        "ask how many blocks of {} threads with {} bytes of shared memory an SM holds", geometry.block,
        geometry.shared_bytes);
  return std::int64_t{blocks} * info_.sm_count;
}

void CudaDevice::launch(const Launch& launch, Stream stream) {
  const Geometry& geometry = launch.geometry;
  check_geometry(geometry, info_);
  bind();
  const CUfunction function = static_cast<const CudaKernel&>(*launch.kernel).function();
  DevicePtr x = launch.x, y = launch.y, workspace = launch.workspace;
  std::int64_t M = launch.M, N = launch.N;
  int phase = 0;
  // A kernel takes as many of them as it declares.
  int parts = geometry.parts;
  std::array<void*, 7> parameters{&x, &y, &M, &N, &workspace, &phase, &parts};
  const bool overlaps = geometry.overlaps && LaunchConfig::overlaps(info_);
  const auto enqueue = [&] {
    if (geometry.cluster == 1 && !geometry.cooperative && !overlaps) {
      return driver_.LaunchKernel(function, static_cast<unsigned>(geometry.grid), 1, 1,
                                  static_cast<unsigned>(geometry.block), 1, 1,
                                  static_cast<unsigned>(geometry.shared_bytes), stream, parameters.data(), nullptr);
    }
    const LaunchConfig config(geometry, overlaps, stream);
    return driver_.LaunchKernelEx(&config.get(), function, parameters.data(), nullptr);
  };
  for (; phase < geometry.phases; ++phase) {
    const CUresult result = enqueue();
    if (result != CUDA_SUCCESS) [[unlikely]]
      fail_launch(result, geometry);
  }
}

void CudaDevice::synchronize() {
  if (primary_) {
    bind();
    check(driver_.CtxSynchronize(), "wait for the device");
  } else {
    // Waiting for the whole context would break a capture that the host program has under way in it.
    check(driver_.StreamSynchronize(context_stream().stream.get()), "wait for the device");
  }
}

CudaDevice::ContextStream& CudaDevice::context_stream() {
  bind();
  unsigned long long id = 0;
  check(driver_.CtxGetId(nullptr, &id), "identify the current context");
  const std::lock_guard lock(mutex_);
  return streams_[id];
}

std::unique_ptr<Batch> CudaDevice::record_batch(std::size_t count, const std::function<void(CUstream)>& enqueue) {
  ContextStream& own = context_stream();
  const CUstream stream = own.stream.get();
  if (!own.lead_in) own.lead_in = std::make_unique<LeadIn>(stream);
  return std::make_unique<CudaBatch>(stream, *own.lead_in, count, [&] { enqueue(stream); });
}

std::unique_ptr<Batch> CudaDevice::record(std::span<const Launch> launches) {
  return record_batch(launches.size(), [&](CUstream stream) {
    for (const Launch& one : launches) launch(one, stream);
  });
}

std::unique_ptr<Batch> CudaDevice::record(std::span<const Copy> copies) {
  return record_batch(copies.size(), [&](CUstream stream) {
    for (const Copy& copy : copies) {
      check(driver_.MemcpyDtoDAsync(copy.y, copy.x, copy.bytes, stream), "capture a copy of {} bytes", copy.bytes);
    }
  });
}

double CudaDevice::time_stream_us(const Launch& launch, int warmups, int launches) {
  if (launches < 1) throw_error(StatusCode::internal, "a time needs at least one launch");
  const CUstream stream = context_stream().stream.get();
  const EventHandle start = make_event(), stop = make_event();
  for (int i = 0; i < warmups; ++i) this->launch(launch, stream);
  check(driver_.EventRecord(start.get(), stream), "record an event");
  for (int i = 0; i < launches; ++i) this->launch(launch, stream);
  check(driver_.EventRecord(stop.get(), stream), "record an event");
  return elapsed_us(start.get(), stop.get(), static_cast<std::size_t>(launches));
}

}  // namespace softmax_dispatch::cuda
