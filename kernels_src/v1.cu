// v1: shared-memory tree reductions.
// One block per row; three scalar scans: maximum, sum, output. Reads 3 and writes 1 float per element (a repeated scan
// may hit L1 or L2). THREADS is a power of two. Any N below 2^31; grid.x = M.
#include "common/base.cuh"
#include "common/scan.cuh"

template <typename F>
__device__ float tree_reduce(float value, float* shared, F combine) {
  shared[threadIdx.x] = value;
  __syncthreads();
#pragma unroll
  for (unsigned stride = THREADS / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + stride]);
    __syncthreads();
  }
  const float result = shared[0];
  __syncthreads();  // every thread has read the result before the next phase overwrites it
  return result;
}

extern "C" __global__ void __launch_bounds__(THREADS) v1(const float* x, float* y, long long M, long long N) {
  __shared__ float shared[THREADS];
  const float* in = row_start(x, blockIdx.x, N);
  float* out = row_start(y, blockIdx.x, N);
  const unsigned n = static_cast<unsigned>(N);

  float m = -kFloatMax;
  scan_elements<THREADS>(threadIdx.x, n, [&](unsigned i) { m = fmaxf(m, in[i]); });
  m = tree_reduce(m, shared, [](float a, float b) { return fmaxf(a, b); });

  float d = 0.0f;
  scan_elements<THREADS>(threadIdx.x, n, [&](unsigned i) { d += expf(in[i] - m); });
  d = tree_reduce(d, shared, [](float a, float b) { return a + b; });

  const float scale = 1.0f / d;
  scan_elements<THREADS>(threadIdx.x, n, [&](unsigned i) { out[i] = expf(in[i] - m) * scale; });
}
