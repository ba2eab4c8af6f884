// held: one block per row, the row held in its registers and shared memory, one barrier per row.
// One scan in 16-byte vectors, whatever the alignment of x and y. Each warp merges its lanes' maxima and sums; after
// the only barrier every warp merges all warps' for itself. Reads 1 and writes 1 element per element. N <= THREADS *
// (VEC_ITEMS + SHARED_ITEMS) vectors, and less than one more.
// grid.x = M: a block that walked over rows would be slower, since the hardware hands rows to the SMs that are free.
#define PARTS 1
#include "common/held.cuh"

__shared__ float2 warps[kWarps];

template <bool ALIGNED>
__device__ inline void softmax_row(const Storage* x, Storage* y, long long M, long long N) {
  const auto row = [&] { return Slice<ALIGNED>(x, y, block_id(), 0, 1u, M, N, kSlots); };
  const auto from = loads_of(row());  // ready when the previous kernel is

  wait_for_previous_kernel();
  if (blockIdx.x >= M) return;
  hold(
      from,
      [&](float2 own) {
        leave_state(warps, own);
        __syncthreads();
        return state_of_block(warps);
      },
      row);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    held(const Storage* x, Storage* y, long long M, long long N) {
  if (rows_are_aligned(x, y, N)) {
    softmax_row<true>(x, y, M, N);
  } else {
    softmax_row<false>(x, y, M, N);
  }
}
