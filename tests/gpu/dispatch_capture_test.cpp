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

/// Kernels of every way of launching: a grid, a cluster, blocks that wait for each other, two launches. What they need
/// of a workspace was reserved by a call outside of the capture, in the same stream or in another.
TEST_P(GpuCapture, EveryWayOfLaunchingReplaysRight) {
  struct Way {
    const char* config;
    std::size_t launches;
  };
  constexpr Way kWays[] = {
      {"lanes LANES=32 ROWS=1 STREAM=1 THREADS=128 VEC_ITEMS=4", 1},
      {"held BLOCKS=4 SHARED_ITEMS=1 STREAM=1 THREADS=64 VEC_ITEMS=2", 1},
      {"clusters BLOCKS=4 PARTS=4 SHARED_ITEMS=0 STREAM=1 THREADS=64 VEC_ITEMS=1", 1},
      {"split BLOCKS=4 GRID=264 PARTS=4 SHARED_ITEMS=0 STREAM=1 THREADS=64 VEC_ITEMS=1", 1},
      {"ring AHEAD=2 BLOCKS=4 GRID=264 STAGES=3 STREAM=1 THREADS=64 VEC_ITEMS=1", 1},
      {"map_merge BLOCKS=4 PARTS=4 STREAM=0 THREADS=64 VEC_ITEMS=1", 2},
  };
  const CudaStream other(cudaStreamNonBlocking);
  for (const Way& way : kWays) {
    for (const cudaStream_t first : {static_cast<cudaStream_t>(nullptr), stream_.get(), other.get()}) {
      SCOPED_TRACE(way.config);
      ASSERT_TRUE(Dispatcher::create({"", way.config}, dispatcher_).ok());
      Matrix eager(*device_, kM, kN), replayed(*device_, kM, kN);
      const Status before = dispatch(eager, first);
      ASSERT_TRUE(before.ok()) << before.message();
      ASSERT_EQ(cudaStreamSynchronize(first), cudaSuccess);
      EXPECT_EQ(eager.wrong(before), "");
      begin();
      const Status captured = dispatch(replayed, stream_.get());
      const Status again = dispatch(replayed, stream_.get());
      end_and_run(2 * way.launches);
      ASSERT_TRUE(captured.ok()) << captured.message();
      ASSERT_TRUE(again.ok()) << again.message();
      EXPECT_EQ(replayed.wrong(captured), "");
    }
  }
}

/// More than have a workspace for good, and more than have one on loan at a time.
TEST_P(GpuCapture, GraphsOneAfterAnotherReplayRight) {
  ASSERT_TRUE(
      Dispatcher::create({"", "ring AHEAD=2 BLOCKS=4 GRID=264 STAGES=3 STREAM=1 THREADS=64 VEC_ITEMS=1"}, dispatcher_)
          .ok());
  const Status before = dispatch(matrix_, stream_.get());
  ASSERT_TRUE(before.ok()) << before.message();
  ASSERT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
  for (int i = 0; i < 100; ++i) {
    Matrix replayed(*device_, kM, kN);
    begin();
    const Status captured = dispatch(replayed, stream_.get());
    end_and_run(1);
    ASSERT_TRUE(captured.ok()) << i << ": " << captured.message();
    EXPECT_EQ(replayed.wrong(captured), "") << i;
  }
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
