// v6_fetch: v6_double with the next vector's load issued before the current one is used.
// One block per row; two scans of VEC_ITEMS float4 per thread and a scalar tail: (m, d), then output. A row whose input
// or output is not 16-byte aligned is accessed by scalars. Reads 2 and writes 1 float per element. N <= 4 * VEC_ITEMS *
// THREADS + 3; grid.x = M.
#include "common/base.cuh"
#include "common/online.cuh"
#include "common/output.cuh"
#include "common/scan.cuh"

// Calls f(k, group k) for this thread's groups, with group k + THREADS already on its way.
template <bool ALIGNED, typename F>
__device__ void scan_prefetched(const float* in, unsigned groups, F f) {
  unsigned k = threadIdx.x;
  float4 next;
  if (k < groups) next = load_group<ALIGNED>(in, k);
#pragma unroll 4
  for (unsigned i = 0; i < VEC_ITEMS; ++i) {
    const unsigned current_k = k;
    const float4 current = next;
    k += THREADS;
    if (i + 1 < VEC_ITEMS && k < groups) next = load_group<ALIGNED>(in, k);
    if (current_k < groups) f(current_k, current);
  }
}

template <bool ALIGNED>
__device__ void softmax_row(const float* in, float* out, unsigned n, SharedStates& shared) {
  State s;
  scan_prefetched<ALIGNED>(in, n / 4, [&](unsigned, float4 v) { update_vector(s, v); });
  scan_tail(threadIdx.x, n, [&](unsigned i) { update_shared_exp(s, in[i]); });
  s = block_merge(s, shared);

  const float scale = 1.0f / s.d;
  scan_prefetched<ALIGNED>(in, n / 4,
                           [&](unsigned k, float4 v) { store_group<ALIGNED>(out, k, normalize(v, s.m, scale)); });
  scan_tail(threadIdx.x, n, [&](unsigned i) { out[i] = expf(in[i] - s.m) * scale; });
}

extern "C" __global__ void __launch_bounds__(THREADS) v6_fetch(const float* x, float* y, long long M, long long N) {
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
