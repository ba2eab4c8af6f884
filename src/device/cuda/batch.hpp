#pragma once

#include <cstddef>
#include <functional>

#include "device/cuda/handles.hpp"
#include "device/device.hpp"

namespace softmax_dispatch::cuda {

/// What `enqueue` puts into the stream, as an instantiated graph that lies on the device.
GraphExecHandle capture_graph(CUstream stream, const std::function<void()>& enqueue);

/// A graph of tiny operations that keeps the device busy for some tens of microseconds: long enough for the host to
/// hand over the events and the graph behind it, so that the host's time is not in what the events measure.
class LeadIn {
 public:
  explicit LeadIn(CUstream stream);
  ~LeadIn() { driver().MemFree(scratch_); }
  LeadIn(const LeadIn&) = delete;
  LeadIn& operator=(const LeadIn&) = delete;
  void launch(CUstream stream) const;

 private:
  CUdeviceptr scratch_ = 0;
  GraphExecHandle graph_;
};

class CudaBatch final : public Batch {
 public:
  /// `count` operations that `enqueue` puts into `stream`. The stream and the lead-in must outlive the batch.
  CudaBatch(CUstream stream, const LeadIn& lead_in, std::size_t count, const std::function<void()>& enqueue);
  double replay_us() override;

 private:
  CUstream stream_;
  const LeadIn& lead_in_;
  std::size_t count_;
  EventHandle start_ = make_event();
  EventHandle stop_ = make_event();
  GraphExecHandle graph_;
};

/// Waits for both events: the time between them in microseconds, shared by `count` operations.
double elapsed_us(CUevent start, CUevent stop, std::size_t count);

}  // namespace softmax_dispatch::cuda
