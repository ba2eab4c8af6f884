// clusters: a row over the PARTS blocks of a thread-block cluster, held in their registers and shared memory (sm_90).
// One scan in 16-byte vectors, whatever the alignment of x and y. Each block merges its threads'
// states, and sends its own to every block of the cluster, where the writes are counted:
// one exchange per row. Reads 1 and writes 1 element per element. N <= PARTS * THREADS * (VEC_ITEMS + SHARED_ITEMS)
// vectors, and less than one more. grid.x = PARTS * M.
#include "common/cluster.cuh"
#include "common/held.cuh"

__shared__ float2 warps[kWarps];
__shared__ Mailbox mailbox;

template <bool ALIGNED>
__device__ inline void softmax_part(const Storage* x, Storage* y, long long M, long long N) {
  const auto part = [&] { return Slice<ALIGNED>(x, y, block_id() / PARTS, block_id() % PARTS, unsigned{PARTS}, M, N); };
  const auto from = loads_of(part());  // ready when the previous kernel is

  wait_for_previous_kernel();
  hold(
      from,
      [&](float2 own) {
        leave_state(warps, own);
        __syncthreads();

        wait_for_cluster();  // every block's mailbox is ready
        if (warp_id() == 0) {
          const float2 of_block = state_of_block(warps);
          if (lane_id() < PARTS) mailbox.send(of_block, blockIdx.x % PARTS);
        }
        mailbox.wait();
        const float2 row = warp_merge(lane_id() < PARTS ? mailbox.states[lane_id()] : no_elements());
        arrive_in_cluster();
        return row;
      },
      part);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    clusters(const Storage* x, Storage* y, long long M, long long N) {
  if (threadIdx.x == 0) mailbox.init();
  arrive_in_cluster();
  if (rows_are_aligned(x, y, N)) {
    softmax_part<true>(x, y, M, N);
  } else {
    softmax_part<false>(x, y, M, N);
  }
  wait_for_cluster();  // a block's shared memory stays until it has sent and received everything
}
