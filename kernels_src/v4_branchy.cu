// v4_branchy: the control of v4_opt, whose update is a branch: each side computes its own exponential, so that the
// lanes of a warp diverge whenever some meet a new maximum and others don't. One block per row; two scalar scans. Reads
// 2 and writes 1 float per element. Any N below 2^31; grid.x = M.
#include "common/base.cuh"
#include "common/online.cuh"
#include "common/reduce.cuh"
#include "common/scan.cuh"

__device__ inline void update_branchy(State& s, float c) {
  if (c > s.m) {
    s.d = s.d * expf(s.m - c) + 1.0f;
    s.m = c;
  } else {
    s.d += expf(c - s.m);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) v4_branchy(const float* x, float* y, long long M, long long N) {
  __shared__ float maxima[kWarp];
  __shared__ float sums[kWarp];
  const float* in = row_start(x, blockIdx.x, N);
  float* out = row_start(y, blockIdx.x, N);
  const unsigned n = static_cast<unsigned>(N);

  State s;
  scan_elements<THREADS>(threadIdx.x, n, [&](unsigned i) { update_branchy(s, in[i]); });
  const float m = block_reduce<MaxOp>(s.m, maxima);
  s.d = block_reduce<SumOp>(s.d * expf(s.m - m), sums);
  s.m = m;
  s = finish(s);

  const float scale = 1.0f / s.d;
  scan_elements<THREADS>(threadIdx.x, n, [&](unsigned i) { out[i] = expf(in[i] - s.m) * scale; });
}
