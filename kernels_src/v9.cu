// v9: blocks that walk over rows.
// A block finishes a row, then takes row + gridDim.x; two scans of VEC_ITEMS float4 per thread and a scalar tail: (m,
// d) with two exponentials per element, then output. A row whose input or output is not 16-byte aligned is accessed by
// scalars. Reads 2 and writes 1 float per element. N <= 4 * VEC_ITEMS * THREADS + 3; any M; grid.x = min(GRID, M).
#include "common/base.cuh"
#include "common/online.cuh"
#include "common/output.cuh"
#include "common/scan.cuh"

template <bool ALIGNED>
__device__ void softmax_row(const float* in, float* out, unsigned n, SharedStates& shared) {
  State s;
  scan_groups<THREADS, VEC_ITEMS>(threadIdx.x, n / 4, [&](unsigned k) {
    const float4 v = load_group<ALIGNED>(in, k);
    update_two_exp(s, v.x);
    update_two_exp(s, v.y);
    update_two_exp(s, v.z);
    update_two_exp(s, v.w);
  });
  scan_tail(threadIdx.x, n, [&](unsigned i) { update_two_exp(s, in[i]); });
  s = block_merge(s, shared);

  const float scale = 1.0f / s.d;
  scan_groups<THREADS, VEC_ITEMS>(threadIdx.x, n / 4, [&](unsigned k) {
    store_group<ALIGNED>(out, k, normalize(load_group<ALIGNED>(in, k), s.m, scale));
  });
  scan_tail(threadIdx.x, n, [&](unsigned i) { out[i] = expf(in[i] - s.m) * scale; });
}

extern "C" __global__ void __launch_bounds__(THREADS) v9(const float* x, float* y, long long M, long long N) {
  __shared__ SharedStates shared;
  const unsigned n = static_cast<unsigned>(N);
  for (long long row = blockIdx.x; row < M; row += gridDim.x) {
    const float* in = row_start(x, row, N);
    float* out = row_start(y, row, N);
    if (is_vector_aligned(in) && is_vector_aligned(out)) {
      softmax_row<true>(in, out, n, shared);
    } else {
      softmax_row<false>(in, out, n, shared);
    }
    __syncthreads();  // every thread has read the row's state before the next row overwrites it
  }
}
