// v7: the row in registers, by 16-byte loads.
// One block per row; one scan: a thread's VEC_ITEMS float4 and its tail element stay in registers across the reduction,
// and the exponentials are computed again for the output. A row whose input or output is not 16-byte aligned is
// accessed by scalars, and cached all the same. Reads 1 and writes 1 float per element. N <= 4 * VEC_ITEMS * THREADS +
// 3; grid.x = M.
#include "common/base.cuh"
#include "common/cached.cuh"

template <bool ALIGNED>
__device__ void softmax_row(const float* in, float* out, unsigned n, SharedStates& shared) {
  CachedShare<THREADS> share;
  share.load<ALIGNED>(in, threadIdx.x, n);
  const State s = block_merge(share.state(threadIdx.x, n), shared);
  share.store<ALIGNED>(out, threadIdx.x, n, s);
}

extern "C" __global__ void __launch_bounds__(THREADS) v7(const float* x, float* y, long long M, long long N) {
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
