// plain: atomics instead of a reduction tree.
// One block per row; two scalar scans: sum, output. Takes no maximum off, so it is right for small inputs only. Reads 2
// and writes 1 float per element. Any N below 2^31; grid.x = M.
#include "common/base.cuh"
#include "common/scan.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) plain(const float* x, float* y, long long M, long long N) {
  __shared__ float sum;
  const float* in = row_start(x, blockIdx.x, N);
  float* out = row_start(y, blockIdx.x, N);
  const unsigned n = static_cast<unsigned>(N);

  if (threadIdx.x == 0) sum = 0.0f;
  __syncthreads();
  scan_elements<THREADS>(threadIdx.x, n, [&](unsigned i) { atomicAdd(&sum, expf(in[i])); });
  __syncthreads();
  const float scale = 1.0f / sum;
  scan_elements<THREADS>(threadIdx.x, n, [&](unsigned i) { out[i] = expf(in[i]) * scale; });
}
