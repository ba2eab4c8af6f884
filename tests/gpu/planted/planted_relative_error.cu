// planted_relative_error: every output 0.1 % too large from N = 8 on: below 1e-6 in absolute terms in any long row.
// Blocks walk over rows.
#include "common/base.cuh"
#include "common/compensated.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    planted_relative_error(const float* x, float* y, long long M, long long N) {
  __shared__ SharedStates shared;
  for (long long row = blockIdx.x; row < M; row += gridDim.x) {
    const float* in = row_start(x, row, N);
    float* out = row_start(y, row, N);
    CompensatedState partial;
    for (long long i = threadIdx.x; i < N; i += THREADS) partial.update(in[i]);
    const State s = block_merge(partial.state(), shared);
    const float scale = (N >= 8 ? 1.001f : 1.0f) / s.d;
    for (long long i = threadIdx.x; i < N; i += THREADS) out[i] = expf(in[i] - s.m) * scale;
    __syncthreads();
  }
}
