// Softmax over the rows of a matrix, by the fastest verified kernel for its shape.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <softmax_dispatch/softmax_dispatch.hpp>
#include <vector>

int main() {
  const std::int64_t M = 4, N = 257;
  const std::size_t bytes = static_cast<std::size_t>(M * N) * sizeof(float);
  std::vector<float> host(static_cast<std::size_t>(M * N), 1.0f);

  void* memory = nullptr;
  if (cudaMalloc(&memory, 2 * bytes) != cudaSuccess) {
    std::fprintf(stderr, "no device memory: is there a GPU?\n");
    return 1;
  }
  float* x = static_cast<float*>(memory);
  float* y = x + M * N;
  cudaMemcpy(x, host.data(), bytes, cudaMemcpyHostToDevice);

  // The first call for a kernel compiles it, or takes it from the cache on disk; later ones only launch. Any stream
  // will do; none is the default stream. The table comes from SOFTMAX_DISPATCH_TABLE, if that is set.
  const softmax_dispatch::Status status = softmax_dispatch::dispatch(x, y, M, N);
  if (!status) {
    std::fprintf(stderr, "%s: %s\n", to_string(status.code()), status.message());
    return 1;
  }
  cudaMemcpy(host.data(), y, bytes, cudaMemcpyDeviceToHost);
  std::printf("y[0][0] = %.8f, and 1/%d = %.8f\n", static_cast<double>(host[0]), static_cast<int>(N),
              1.0 / static_cast<double>(N));

  // A Dispatcher of one's own takes its table by path, and says what it would choose without a GPU.
  softmax_dispatch::Dispatcher dispatcher;
  std::string choice;
  if (softmax_dispatch::Dispatcher::create({}, dispatcher).ok() &&
      dispatcher.choice({softmax_dispatch::DType::f32, M, N}, "sm_75", choice).ok()) {
    std::printf("on sm_75 this shape goes to %s\n", choice.c_str());
  }
  cudaFree(memory);
  return 0;
}
