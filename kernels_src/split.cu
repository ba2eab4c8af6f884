// split: a row over PARTS blocks anywhere on the device, held in their registers and shared memory, for few long rows.
// One scan in 16-byte vectors, whatever the alignment of x and y. Launched cooperatively: the blocks of a row wait for
// each other, once, and exchange their states through global memory. They walk over rows where the grid has fewer than
// PARTS * M blocks. Reads 1 and writes 1 element per element. Any M; N <= PARTS * THREADS * (VEC_ITEMS + SHARED_ITEMS)
// vectors, less what precedes the row in its first vector where rows are not aligned.
#include "common/exchange.cuh"
#include "common/held.cuh"
#include "common/launch.cuh"
#include "common/part.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    split(const Storage* x, Storage* y, long long M, long long N, void* workspace) {
  // A warp may be one row ahead of the slowest, which then still reads the other half.
  __shared__ float2 warps[2][kWarps];
  __shared__ float2 rows[2];
  const long long groups = gridDim.x / PARTS;
  const int own = static_cast<int>(blockIdx.x % PARTS);

  let_next_kernel_start();
  wait_for_previous_kernel();
  const unsigned tag = launch_tag(workspace);
  // Two slots of a part for each group of blocks, taken in turn: whoever writes one has seen all parts of the row
  // before, which were written by blocks that had read those of the row before that.
  Slot* const slots = slots_of(workspace) + blockIdx.x / PARTS * 2 * PARTS;
  unsigned round = 0;
  for (long long r = blockIdx.x / PARTS; r < M; r += groups, ++round) {
    const int half = static_cast<int>(round % 2);
    const Part part(x, y, r, own, M, N);
    const int first = part.first + static_cast<int>(threadIdx.x);
    Held held;
    held.load(part.row, first);
    const float m = finite(group_max<kWidth>(held.maximum()));
    const float sum = group_sum<kWidth>(held.exponentials(m));
    if (lane_id() == 0) warps[half][warp_id()] = make_float2(m, sum);
    __syncthreads();
    if (warp_id() == 0) {
      const float2 state = warp_merge(lane_id() < kWarps ? warps[half][lane_id()] : no_elements());
      Slot* const of_row = slots + half * PARTS;
      if (lane_id() == 0) publish(of_row + own, state, tag + round / 2);
      const float2 row = await_row<PARTS>(of_row, tag + round / 2);
      if (lane_id() == 0) rows[half] = row;
    }
    __syncthreads();
    held.store(part.row, first, m, rows[half].x, rows[half].y);
  }
  if (threadIdx.x == 0) leave(workspace, tag + static_cast<unsigned>((M + groups - 1) / groups) / 2);
}
