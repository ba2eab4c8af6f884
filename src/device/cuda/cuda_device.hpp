#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "device/cuda/batch.hpp"
#include "device/cuda/handles.hpp"
#include "device/device.hpp"
#include "support/error.hpp"

namespace softmax_dispatch::cuda {

inline void check_ordinal(int ordinal, int count) {
  if (ordinal < 0 || ordinal >= count) {
    throw_error(StatusCode::no_device, "there is no GPU {}: this process sees {}", ordinal, count);
  }
}

/// Which context the functions of a device act on.
enum class ContextRule {
  primary,  ///< The device's primary context, retained, and made current at every call.
  current,  ///< Whatever is current, which must be a context of the device.
};

class CudaDevice final : public Device {
 public:
  CudaDevice(int ordinal, ContextRule rule);
  ~CudaDevice() override;

  const DeviceInfo& info() const override { return info_; }
  DevicePtr allocate(std::size_t bytes) override;
  void release(DevicePtr pointer) noexcept override;
  void upload(DevicePtr to, const void* from, std::size_t bytes) override;
  void download(void* to, DevicePtr from, std::size_t bytes) override;
  void fill(DevicePtr to, unsigned char byte, std::size_t bytes) override;
  Stream stream() override { return context_stream().stream.get(); }
  std::shared_ptr<const LoadedKernel> load(std::string_view image, const std::string& entry,
                                           const Resources& resources) override;
  std::int64_t resident_blocks(const LoadedKernel& kernel, const Geometry& geometry) override;
  void launch(const Launch& launch, Stream stream) override;
  void synchronize() override;
  std::unique_ptr<Batch> record(std::span<const Launch> launches) override;
  std::unique_ptr<Batch> record(std::span<const Copy> copies) override;
  double time_stream_us(const Launch& launch, int warmups, int launches) override;

 private:
  /// A stream of one context, and what belongs to it.
  struct ContextStream {
    StreamHandle stream = make_stream();
    std::unique_ptr<LeadIn> lead_in;
  };

  void bind() const {
    if (primary_) primary_->make_current();
  }
  /// Of the context that the device acts on; made at its first use.
  ContextStream& context_stream();
  std::unique_ptr<Batch> record_batch(std::size_t count, const std::function<void(CUstream)>& enqueue);
  /// Runs what `enqueue` puts into the device's own stream, and waits for it.
  template <typename Enqueue>
  void transfer(const char* action, std::size_t bytes, Enqueue enqueue);

  const Driver& driver_ = driver();
  DeviceInfo info_;
  std::optional<PrimaryContext> primary_;
  std::mutex mutex_;
  std::map<unsigned long long, ContextStream> streams_;  ///< By the context's id, which is never used again.
};

}  // namespace softmax_dispatch::cuda
