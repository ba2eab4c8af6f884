// The dispatcher in a program that uses the CUDA runtime: its streams, its memory, its graphs.
#ifdef SOFTMAX_DISPATCH_TEST_CUDART
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <softmax_dispatch/softmax_dispatch.hpp>
#include <thread>
#include <vector>

#include "device/cuda/cuda.hpp"
#include "gpu/dispatch_matrix.hpp"

namespace softmax_dispatch::testing {
namespace {

constexpr std::int64_t kM = 1025, kN = 257;

class CudaStream {
 public:
  explicit CudaStream(unsigned flags) { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, flags), cudaSuccess); }
  ~CudaStream() { cudaStreamDestroy(stream_); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Both kinds of stream: ordered with the legacy default stream, and not.
class GpuCapture : public ::testing::TestWithParam<unsigned> {
 protected:
  GpuCapture() { EXPECT_TRUE(Dispatcher::create({}, dispatcher_).ok()); }

  void begin() { ASSERT_EQ(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeGlobal), cudaSuccess); }
  /// Ends the capture, which must be intact, and runs it.
  void end_and_run(std::size_t nodes) {
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream_.get(), &graph), cudaSuccess);
    std::size_t count = 0;
    ASSERT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
    EXPECT_EQ(count, nodes);
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaGraphInstantiateWithFlags(&executable, graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(executable, stream_.get()), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
  }
  Status dispatch(const Matrix& matrix, cudaStream_t stream) {
    return dispatcher_.dispatch(matrix.x(), matrix.y(), kM, kN, stream);
  }

  std::unique_ptr<Device> device_ = cuda::open(0);
  CudaStream stream_{GetParam()};
  Dispatcher dispatcher_;
  Matrix matrix_{*device_, kM, kN};
};

TEST_P(GpuCapture, ColdDispatchIsRefusedAndLeavesTheCaptureIntact) {
  begin();
  EXPECT_EQ(dispatch(matrix_, stream_.get()).code(), StatusCode::not_warmed);
  end_and_run(0);
}

TEST_P(GpuCapture, PrewarmedDispatchReplaysRight) {
  const Problem problem{DType::f32, kM, kN};
  ASSERT_TRUE(dispatcher_.prewarm(&problem, 1).ok());
  begin();
  const Status status = dispatch(matrix_, stream_.get());
  end_and_run(1);
  EXPECT_EQ(matrix_.wrong(status), "");
}

TEST_P(GpuCapture, ColdWorkOfAnotherThreadLeavesACaptureIntact) {
  const Problem problem{DType::f32, kM, kN};
  ASSERT_TRUE(dispatcher_.prewarm(&problem, 1).ok());
  Matrix other(*device_, 100, 3000);
  const CudaStream other_stream(cudaStreamNonBlocking);
  begin();
  Status cold;
  std::thread([&] {
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    cold = dispatcher_.dispatch(other.x(), other.y(), 100, 3000, other_stream.get());
  }).join();
  const Status status = dispatch(matrix_, stream_.get());
  end_and_run(1);
  // Not before: waiting for any stream breaks a capture in global mode.
  ASSERT_EQ(cudaStreamSynchronize(other_stream.get()), cudaSuccess);
  EXPECT_EQ(matrix_.wrong(status), "");
  EXPECT_EQ(other.wrong(cold), "");
}

INSTANTIATE_TEST_SUITE_P(StreamKinds, GpuCapture, ::testing::Values(cudaStreamDefault, cudaStreamNonBlocking),
                         [](const auto& instance) {
                           return instance.param == cudaStreamDefault ? "Blocking" : "NonBlocking";
                         });

TEST(GpuRuntime, MemoryAndStreamsOfTheRuntimeAreServedByTwoThreads) {
  Dispatcher dispatcher;
  ASSERT_TRUE(Dispatcher::create({}, dispatcher).ok());
  const auto work = [&](std::int64_t N) {
    const CudaStream stream(cudaStreamNonBlocking);
    const std::size_t bytes = static_cast<std::size_t>(kM * N) * sizeof(float);
    void* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
    float* x = static_cast<float*>(memory);
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(cudaMemsetAsync(x, 0, bytes, stream.get()), cudaSuccess);
      const Status status = dispatcher.dispatch(x, x, kM, N, stream.get());
      ASSERT_TRUE(status.ok()) << status.message();
      std::vector<float> y(static_cast<std::size_t>(kM * N));
      ASSERT_EQ(cudaMemcpyAsync(y.data(), x, bytes, cudaMemcpyDeviceToHost, stream.get()), cudaSuccess);
      ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
      const auto is_wrong = [N](float value) { return !(std::abs(value * static_cast<float>(N) - 1.0f) <= 1e-6f); };
      EXPECT_EQ(std::count_if(y.begin(), y.end(), is_wrong), 0);
    }
    ASSERT_EQ(cudaFree(memory), cudaSuccess);
  };
  std::thread first(work, 256), second(work, 1000);
  first.join();
  second.join();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the library left an error behind for the program to find";
}

}  // namespace
}  // namespace softmax_dispatch::testing
#endif
