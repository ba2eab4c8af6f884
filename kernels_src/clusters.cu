// clusters: a row over the PARTS blocks of a thread-block cluster, held in their registers and shared memory (sm_90).
// One scan in 16-byte vectors, whatever the alignment of x and y. Each warp takes exponentials against its own maximum,
// each block merges its warps' states, and sends its own to every block of the cluster, where the writes are counted:
// one exchange per row. Reads 1 and writes 1 element per element. N <= PARTS * THREADS * (VEC_ITEMS + SHARED_ITEMS)
// vectors, less what precedes the row in its first vector where rows are not aligned. grid.x = PARTS * M.
#include "common/cluster.cuh"
#include "common/held.cuh"
#include "common/launch.cuh"
#include "common/part.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    clusters(const Storage* x, Storage* y, long long M, long long N) {
  __shared__ float2 warps[kWarps];
  __shared__ Mailbox mailbox;
  const unsigned rank = blockIdx.x % PARTS;
  if (threadIdx.x == 0) mailbox.init();
  arrive_in_cluster();

  let_next_kernel_start();
  wait_for_previous_kernel();
  const Part part(x, y, blockIdx.x / PARTS, static_cast<int>(rank), M, N);
  const int first = part.first + static_cast<int>(threadIdx.x);
  Held held;
  held.load(part.row, first);
  const float m = finite(group_max<kWidth>(held.maximum()));
  const float sum = group_sum<kWidth>(held.exponentials(m));
  if (lane_id() == 0) warps[warp_id()] = make_float2(m, sum);
  __syncthreads();

  wait_for_cluster();  // every block's mailbox is ready
  if (warp_id() == 0) {
    const float2 own = warp_merge(lane_id() < kWarps ? warps[lane_id()] : no_elements());
    if (lane_id() < PARTS) mailbox.send(own, rank);
  }
  mailbox.wait();
  const float2 row = warp_merge(lane_id() < PARTS ? mailbox.states[lane_id()] : no_elements());
  arrive_in_cluster();
  held.store(part.row, first, m, row.x, row.y);
  wait_for_cluster();  // a block's shared memory stays until it has sent and received everything
}
