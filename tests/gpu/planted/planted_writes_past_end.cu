// planted_writes_past_end: v5 whose last block writes one element after the matrix. One block per row; grid.x = M.
#include "common/base.cuh"
#include "common/online.cuh"
#include "common/scan.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    planted_writes_past_end(const float* x, float* y, long long M, long long N) {
  __shared__ SharedStates shared;
  const float* in = row_start(x, blockIdx.x, N);
  float* out = row_start(y, blockIdx.x, N);
  const unsigned n = static_cast<unsigned>(N);

  State s;
  scan_elements<THREADS>(threadIdx.x, n, [&](unsigned i) { update_shared_exp(s, in[i]); });
  s = block_merge(s, shared);
  const float scale = 1.0f / s.d;
  scan_elements<THREADS>(threadIdx.x, n, [&](unsigned i) { out[i] = expf(in[i] - s.m) * scale; });
  if (blockIdx.x + 1 == M && threadIdx.x == 0) out[n] = 0.0f;
}
