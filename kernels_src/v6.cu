// v6: 16-byte loads in the first scan.
// One block per row; two scans: VEC_ITEMS float4 per thread and a scalar tail for (m, d), then a scalar output scan. A
// row that is not 16-byte aligned is read by scalars. Reads 2 and writes 1 float per element. N <= 4 * VEC_ITEMS *
// THREADS + 3; grid.x = M.
#include "common/base.cuh"
#include "common/online.cuh"
#include "common/scan.cuh"

template <bool ALIGNED>
__device__ State scan_state(const float* in, unsigned n) {
  State s;
  scan_groups<THREADS, VEC_ITEMS>(threadIdx.x, n / 4,
                                  [&](unsigned k) { update_vector(s, load_group<ALIGNED>(in, k)); });
  scan_tail(threadIdx.x, n, [&](unsigned i) { update_shared_exp(s, in[i]); });
  return s;
}

extern "C" __global__ void __launch_bounds__(THREADS) v6(const float* x, float* y, long long M, long long N) {
  __shared__ SharedStates shared;
  const float* in = row_start(x, blockIdx.x, N);
  float* out = row_start(y, blockIdx.x, N);
  const unsigned n = static_cast<unsigned>(N);

  State s = is_vector_aligned(in) ? scan_state<true>(in, n) : scan_state<false>(in, n);
  s = block_merge(s, shared);

  const float scale = 1.0f / s.d;
  scan_elements<THREADS>(threadIdx.x, n, [&](unsigned i) { out[i] = expf(in[i] - s.m) * scale; });
}
