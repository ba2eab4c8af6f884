// v10: one warp per row, the row in registers.
// THREADS / 32 rows per block (v8's ownership); one scan: a lane's VEC_ITEMS float4 and its tail element stay in
// registers across the reduction (v7's cache). A row whose input or output is not 16-byte aligned is accessed by
// scalars, and cached all the same. Reads 1 and writes 1 float per element. N <= 128 * VEC_ITEMS + 3; grid.x = ceil(M /
// (THREADS / 32)).
#include "common/base.cuh"
#include "common/cached.cuh"

template <bool ALIGNED>
__device__ void softmax_row(const float* in, float* out, unsigned n) {
  CachedShare<kWarp> share;
  share.load<ALIGNED>(in, lane_id(), n);
  const State s = warp_merge_broadcast(share.state(lane_id(), n));
  share.store<ALIGNED>(out, lane_id(), n, s);
}

extern "C" __global__ void __launch_bounds__(THREADS) v10(const float* x, float* y, long long M, long long N) {
  const long long row = static_cast<long long>(blockIdx.x) * kWarps + warp_id();
  if (row >= M) return;  // the whole warp leaves together
  const float* in = row_start(x, row, N);
  float* out = row_start(y, row, N);
  const unsigned n = static_cast<unsigned>(N);
  if (is_vector_aligned(in) && is_vector_aligned(out)) {
    softmax_row<true>(in, out, n);
  } else {
    softmax_row<false>(in, out, n);
  }
}
