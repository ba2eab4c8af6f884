// Softmax in a CUDA graph: the shape is made warm first, since nothing may be compiled while a stream is captured.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <softmax_dispatch/softmax_dispatch.hpp>

namespace {

bool ok(const softmax_dispatch::Status& status) {
  if (!status) std::fprintf(stderr, "%s: %s\n", to_string(status.code()), status.message());
  return status.ok();
}

}  // namespace

int main() {
  const softmax_dispatch::Problem problem{softmax_dispatch::DType::f32, 1024, 4096};
  if (!ok(softmax_dispatch::prewarm(&problem, 1))) return 1;

  void* memory = nullptr;
  const std::size_t bytes = static_cast<std::size_t>(problem.M * problem.N) * sizeof(float);
  cudaStream_t stream = nullptr;
  if (cudaMalloc(&memory, bytes) != cudaSuccess || cudaStreamCreate(&stream) != cudaSuccess) {
    std::fprintf(stderr, "no device memory or stream\n");
    return 1;
  }
  float* x = static_cast<float*>(memory);
  cudaMemset(x, 0, bytes);

  // Ten softmaxes of the same matrix, each in place.
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  bool captured = true;
  for (int i = 0; i < 10 && captured; ++i) {
    captured = ok(softmax_dispatch::dispatch(x, x, problem.M, problem.N, stream));
  }
  cudaStreamEndCapture(stream, &graph);
  if (!captured || cudaGraphInstantiateWithFlags(&executable, graph, 0) != cudaSuccess) return 1;
  cudaGraphLaunch(executable, stream);
  cudaStreamSynchronize(stream);

  float first = 0;
  cudaMemcpy(&first, x, sizeof first, cudaMemcpyDeviceToHost);
  std::printf("x[0][0] = %.8f, and 1/4096 = %.8f\n", static_cast<double>(first), 1.0 / 4096);

  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  cudaFree(memory);
  return 0;
}
