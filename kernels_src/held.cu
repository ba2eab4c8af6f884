// held: one block per row, the row held as it was loaded in its registers and shared memory, one barrier per row.
// One scan in 16-byte vectors, whatever the alignment of x and y. Each warp takes the exponentials against its own
// maximum; after the only barrier every warp merges all warps' maxima and sums for itself. Reads 1 and writes 1 element
// per element. N <= THREADS * (VEC_ITEMS + SHARED_ITEMS) vectors, less what precedes the row in its first vector where
// rows are not aligned. grid.x = M: a block that walked over rows would be slower, since the hardware hands rows to the
// SMs that are free.
#include "common/held.cuh"
#include "common/launch.cuh"
#include "common/state.cuh"

constexpr int kCapacity = THREADS * (VEC_ITEMS + SHARED_ITEMS) * kVector;

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    held(const Storage* x, Storage* y, long long M, long long N) {
  __shared__ float2 warps[kWarps];
  const int first = static_cast<int>(threadIdx.x);

  let_next_kernel_start();
  wait_for_previous_kernel();
  if (blockIdx.x >= M) return;
  Held share;
  share.load(Row(x, y, blockIdx.x, M, N, kCapacity), first);
  const float m = finite(group_max<kWidth>(share.maximum()));
  const float sum = group_sum<kWidth>(share.exponentials(m));
  if (lane_id() == 0) warps[warp_id()] = make_float2(m, sum);
  __syncthreads();
  const float2 state = warp_merge(lane_id() < kWarps ? warps[lane_id()] : no_elements());
  // The row anew: kept from above, it would take registers of the elements meanwhile.
  share.store(Row(x, y, block_id(), M, N, kCapacity), first, m, state.x, state.y);
}
