// v4: online softmax, two exponentials per update.
// One block per row; two scalar scans: each thread's (m, d), then output. Between them the block's maximum, a rescale
// of every thread's d, and the block's sum. Reads 2 and writes 1 float per element. Any N below 2^31; grid.x = M.
#include "common/base.cuh"
#include "common/online.cuh"
#include "common/reduce.cuh"
#include "common/scan.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) v4(const float* x, float* y, long long M, long long N) {
  __shared__ float maxima[kWarp];
  __shared__ float sums[kWarp];
  const float* in = row_start(x, blockIdx.x, N);
  float* out = row_start(y, blockIdx.x, N);
  const unsigned n = static_cast<unsigned>(N);

  State s;
  scan_elements<THREADS>(threadIdx.x, n, [&](unsigned i) { update_two_exp(s, in[i]); });
  const float m = block_reduce<MaxOp>(s.m, maxima);
  s.d = block_reduce<SumOp>(s.d * expf(s.m - m), sums);
  s.m = m;
  s = finish(s);

  const float scale = 1.0f / s.d;
  scan_elements<THREADS>(threadIdx.x, n, [&](unsigned i) { out[i] = expf(in[i] - s.m) * scale; });
}
