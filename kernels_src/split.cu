// split: a row over `parts` blocks anywhere on the device, held in their registers and shared memory, for few long
// rows. One scan in 16-byte vectors, whatever the alignment of x and y. Launched cooperatively: the blocks of a row
// wait for each other, once, and exchange their states through global memory. They walk over rows where the grid has
// fewer than parts * M blocks. Reads 1 and writes 1 element per element. Any M; N <= parts * THREADS * (VEC_ITEMS +
// SHARED_ITEMS) vectors, and less than one more.
#define STREAM_ALL true
#include "common/exchange.cuh"
#include "common/held.cuh"

// A warp may be one row ahead of the slowest, which then still reads the other half.
__shared__ float2 warps[2][kWarps];
__shared__ float2 rows[2];

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    split(const Storage* x, Storage* y, long long M, long long N, void* workspace, int /*phase*/, int parts) {
  const PowerOfTwo count{static_cast<unsigned>(parts)};
  unsigned round = 0;
  // What follows from the block's number is worked out where it is needed: kept, it would take registers of the
  // vectors.
  const auto row = [&] {
    const long long groups = gridDim.x / count;
    return block_id() / count + round * groups;
  };
  const auto own_part = [&] { return block_id() % count; };
  const auto part = [&] { return Slice<false>(x, y, row(), own_part(), count, M, N); };
  auto from = loads_of(part());  // ready when the previous kernel is

  wait_for_previous_kernel();
  const unsigned tag = launch_tag(workspace);
  for (;;) {
    const int half = static_cast<int>(round % 2);
    hold(
        from,
        [&](float2 own) {
          leave_state(warps[half], own);
          __syncthreads();
          if (warp_id() == 0) {
            const float2 state = state_of_block(warps[half]);
            // Two slots of a part for each group of blocks, taken in turn: whoever writes one has seen all parts of the
            // row before, which were written by blocks that had read those of the row before that.
            Slot* const of_row = slots_of(workspace) + ((block_id() / count * 2 + half) << count.exponent());
            if (lane_id() == 0) publish(of_row + own_part(), state, tag + round / 2);
            const float2 merged = await_row(of_row, count, tag + round / 2);
            if (lane_id() == 0) rows[half] = merged;
          }
          __syncthreads();
          return rows[half];
        },
        part);
    ++round;
    if (row() >= M) break;
    from = loads_of(part());
  }
  if (threadIdx.x == 0) leave(workspace, tag + round / 2);
}
