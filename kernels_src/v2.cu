// v2: warp shuffles, shared memory only between warps.
// One block per row; three scalar scans: maximum, sum, output. Reads 3 and writes 1 float per element (a repeated scan
// may hit L1 or L2). Any N below 2^31; grid.x = M.
#include "common/base.cuh"
#include "common/reduce.cuh"
#include "common/scan.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) v2(const float* x, float* y, long long M, long long N) {
  __shared__ float maxima[kWarp];
  __shared__ float sums[kWarp];
  const float* in = row_start(x, blockIdx.x, N);
  float* out = row_start(y, blockIdx.x, N);
  const unsigned n = static_cast<unsigned>(N);

  float m = -kFloatMax;
  scan_elements<THREADS>(threadIdx.x, n, [&](unsigned i) { m = fmaxf(m, in[i]); });
  m = block_reduce<MaxOp>(m, maxima);

  float d = 0.0f;
  scan_elements<THREADS>(threadIdx.x, n, [&](unsigned i) { d += expf(in[i] - m); });
  d = block_reduce<SumOp>(d, sums);

  const float scale = 1.0f / d;
  scan_elements<THREADS>(threadIdx.x, n, [&](unsigned i) { out[i] = expf(in[i] - m) * scale; });
}
