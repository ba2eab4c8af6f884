// copy: the practical floor of any softmax over the same bytes: one 16-byte load and one store per thread.
// Reads 1 and writes 1 float per element; grid.x = ceil(ceil(M * N / 4) / THREADS). x and y are 16-byte aligned.
extern "C" __global__ void __launch_bounds__(THREADS) copy(const float* x, float* y, long long M, long long N) {
  const long long count = M * N;
  const long long k = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
  if (4 * k + 3 < count) {
    reinterpret_cast<float4*>(y)[k] = reinterpret_cast<const float4*>(x)[k];
  } else {
    for (long long i = 4 * k; i < count; ++i) y[i] = x[i];
  }
}
