// map_merge: a row over PARTS blocks in two launches, for few rows of any length, on any device.
// The first launch reduces each part to its state; in the second every block merges the states of its row, reads its
// part again, from the end on, where the caches still hold it, and writes it. No block waits for another, and nothing
// of a row stays on chip. Reads 2 and writes 1 element per element. M * PARTS slots of workspace. Any N below 2^31 -
// 2^20. grid.x = PARTS * M.
#include "common/compensated.cuh"
#include "common/exchange.cuh"
#include "common/launch.cuh"

#define SHARED_ITEMS 0
#define PART_CAPACITY kNoLimit
#include "common/part.cuh"
#include "common/vectors.cuh"

constexpr int kStep = THREADS * VEC_ITEMS;  // vectors that the block takes at a time

// The state of a thread's share of the part. A step has few additions; how many steps there are makes no difference to
// their sum.
__device__ inline float2 reduce(const Part& part) {
  CompensatedState state;
  for (int at = part.first + static_cast<int>(threadIdx.x); at * kVector < part.row.end; at += kStep) {
    Vectors<VEC_ITEMS> vectors;
    vectors.load(loads_of(part.row, at));
    state.raise(maximum(vectors));
    float sum[4] = {};
#pragma unroll
    for (int i = 0; i < VEC_ITEMS; ++i) {
      float v[kVector];
      unpack(vectors.v[i], v);
#pragma unroll
      for (int k = 0; k < kVector; ++k) sum[k % 4] += exponential(v[k] - state.m);
    }
    state.add((sum[0] + sum[1]) + (sum[2] + sum[3]));
  }
  return make_float2(state.m, state.d + state.error);
}

__device__ inline void write(const Part& part, float2 row) {
  const float scale = reciprocal(row.y);
  const int steps = ((part.row.end + kVector - 1) / kVector - part.first + kStep - 1) / kStep;
  for (int step = steps - 1; step >= 0; --step) {
    const int first = part.first + step * kStep + static_cast<int>(threadIdx.x);
    Vectors<VEC_ITEMS> vectors;
    vectors.load(loads_of(part.row, first));
#pragma unroll
    for (int i = 0; i < VEC_ITEMS; ++i) {
      float v[kVector];
      unpack(vectors.v[i], v);
#pragma unroll
      for (int k = 0; k < kVector; ++k) v[k] = exponential(v[k] - row.x) * scale;
      vectors.v[i] = pack(v);
    }
    vectors.store(stores_of(part.row, first));
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    map_merge(const Storage* x, Storage* y, long long M, long long N, void* workspace, int phase, int parts) {
  __shared__ float2 warps[kWarps];
  let_next_kernel_start();
  wait_for_previous_kernel();
  const unsigned count = parts, r = blockIdx.x / count, own = blockIdx.x % count;
  const Part part(x, y, r, own, count, M, N);
  Slot* const slots = slots_of(workspace) + static_cast<long long>(r) * count;
  constexpr unsigned kNoTag = 0;  // the end of a launch orders what it wrote before the next one's reads
  if (phase == 0) {
    leave_state(warps, reduce(part));
    __syncthreads();
    if (warp_id() != 0) return;
    const float2 state = state_of_block(warps);
    if (lane_id() == 0) publish(slots + own, state, kNoTag);
  } else {
    write(part, await_long_row(slots, count, kNoTag));
  }
}
