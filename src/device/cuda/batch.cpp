#include "device/cuda/batch.hpp"

#include "support/error.hpp"

namespace softmax_dispatch::cuda {
namespace {

/// A stream in capture. Whatever is thrown in between, the stream is usable again afterwards.
class Capture {
 public:
  explicit Capture(CUstream stream) : stream_(stream) {
    // Relaxed: nothing this thread does meanwhile is unsafe to the capture, and other threads are not its business.
    check(driver().StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "begin to capture a stream");
  }
  ~Capture() {
    if (stream_) finish();
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  GraphHandle end() {
    GraphHandle graph;
    check(finish(&graph), "end the capture of a stream");
    return graph;
  }

 private:
  CUresult finish(GraphHandle* graph = nullptr) noexcept {
    CUgraph captured = nullptr;
    const CUresult result = driver().StreamEndCapture(stream_, &captured);
    stream_ = nullptr;
    GraphHandle owner(captured);
    if (graph) *graph = std::move(owner);
    return result;
  }

  CUstream stream_;
};

}  // namespace

GraphExecHandle capture_graph(CUstream stream, const std::function<void()>& enqueue) {
  Capture capture(stream);
  enqueue();
  const GraphHandle graph = capture.end();
  CUgraphExec instance = nullptr;
  check(driver().GraphInstantiateWithFlags(&instance, graph.get(), 0), "instantiate a graph");
  GraphExecHandle owner(instance);
  check(driver().GraphUpload(instance, stream), "upload a graph");
  check(driver().StreamSynchronize(stream), "wait for the upload of a graph");
  return owner;
}

LeadIn::LeadIn(CUstream stream) {
  // A memset takes 1 to 2 us of the device; the host needs 10 to 20 us.
  constexpr int kOperations = 32;
  constexpr std::size_t kBytes = 256;
  check(driver().MemAlloc(&scratch_, kBytes), "allocate {} bytes", kBytes);
  try {
    graph_ = capture_graph(stream, [&] {
      for (int i = 0; i < kOperations; ++i) {
        check(driver().MemsetD8Async(scratch_, 0, kBytes, stream), "capture a memset");
      }
    });
  } catch (...) {
    driver().MemFree(scratch_);
    throw;
  }
}

void LeadIn::launch(CUstream stream) const {
  check(driver().GraphLaunch(graph_.get(), stream), "launch the lead-in of a batch");
}

CudaBatch::CudaBatch(CUstream stream, const LeadIn& lead_in, std::size_t count, const std::function<void()>& enqueue)
    : stream_(stream), lead_in_(lead_in), count_(count) {
  if (count == 0) throw_error(StatusCode::internal, "a batch needs at least one operation");
  graph_ = capture_graph(stream, enqueue);
}

double CudaBatch::replay_us() {
  lead_in_.launch(stream_);
  check(driver().EventRecord(start_.get(), stream_), "record an event");
  check(driver().GraphLaunch(graph_.get(), stream_), "launch a batch of {}", count_);
  check(driver().EventRecord(stop_.get(), stream_), "record an event");
  return elapsed_us(start_.get(), stop_.get(), count_);
}

double elapsed_us(CUevent start, CUevent stop, std::size_t count) {
  check(driver().EventSynchronize(stop), "wait for a batch of {}", count);
  float ms = 0;
  check(driver().EventElapsedTime(&ms, start, stop), "read the time of a batch of {}", count);
  return static_cast<double>(ms) * 1e3 / static_cast<double>(count);
}

}  // namespace softmax_dispatch::cuda
