// v6_double: 16-byte accesses in both scans.
// One block per row; two scans of VEC_ITEMS float4 per thread and a scalar tail: (m, d), then output. A row whose input
// or output is not 16-byte aligned is accessed by scalars. Reads 2 and writes 1 float per element. N <= 4 * VEC_ITEMS *
// THREADS + 3; grid.x = M.
#include "common/base.cuh"
#include "common/online.cuh"
#include "common/output.cuh"
#include "common/scan.cuh"

template <bool ALIGNED>
__device__ void softmax_row(const float* in, float* out, unsigned n, SharedStates& shared) {
  State s;
  scan_groups<THREADS, VEC_ITEMS>(threadIdx.x, n / 4,
                                  [&](unsigned k) { update_vector(s, load_group<ALIGNED>(in, k)); });
  scan_tail(threadIdx.x, n, [&](unsigned i) { update_shared_exp(s, in[i]); });
  s = block_merge(s, shared);

  const float scale = 1.0f / s.d;
  scan_groups<THREADS, VEC_ITEMS>(threadIdx.x, n / 4, [&](unsigned k) {
    store_group<ALIGNED>(out, k, normalize(load_group<ALIGNED>(in, k), s.m, scale));
  });
  scan_tail(threadIdx.x, n, [&](unsigned i) { out[i] = expf(in[i] - s.m) * scale; });
}

extern "C" __global__ void __launch_bounds__(THREADS) v6_double(const float* x, float* y, long long M, long long N) {
  __shared__ SharedStates shared;
  const float* in = row_start(x, blockIdx.x, N);
  float* out = row_start(y, blockIdx.x, N);
  const unsigned n = static_cast<unsigned>(N);
  if (is_vector_aligned(in) && is_vector_aligned(out)) {
    softmax_row<true>(in, out, n, shared);
  } else {
    softmax_row<false>(in, out, n, shared);
  }
}
