// planted_zeros: writes zeros, which an absolute bound takes for right in any long row. Blocks walk over rows.
extern "C" __global__ void __launch_bounds__(THREADS) planted_zeros(const float*, float* y, long long M, long long N) {
  for (long long row = blockIdx.x; row < M; row += gridDim.x) {
    for (long long i = threadIdx.x; i < N; i += THREADS) y[row * N + i] = 0.0f;
  }
}
