// map_merge: a row over PARTS blocks in two launches, for few rows of any length, on any device.
// The first launch reduces each part to its state; in the second every block merges the states of its row, reads its
// part again, from the end on, where the caches still hold it, and writes it. No block waits for another, and nothing
// of a row stays on chip. Reads 2 and writes 1 element per element. M * PARTS slots of workspace. Any N below 2^31 -
// 2^20. grid.x = PARTS * M.
#define STREAM_ALL true
#include "common/compensated.cuh"
#include "common/exchange.cuh"
#include "common/launch.cuh"
#include "common/vectors.cuh"

constexpr int kStep = THREADS * VEC_ITEMS;  // vectors that the block takes at a time

// The state of a thread's share of the slice. A step has few additions; how many steps there are makes no difference to
// their sum.
__device__ inline float2 reduce(const Slice<false>& slice) {
  CompensatedState state;
  for (int first = static_cast<int>(threadIdx.x); first < static_cast<int>(slice.count); first += kStep) {
    Vectors<VEC_ITEMS> vectors;
    vectors.load(loads_of(slice, first));
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
  if (const int edge = slice.edge(); edge >= 0) {
    const float v = Type::load(slice.row_x[edge]);
    state.raise(v);
    state.add(exponential(v - state.m));
  }
  return make_float2(state.m, state.d + state.error);
}

__device__ inline void write(const Slice<false>& slice, float2 row) {
  const float scale = reciprocal(row.y);
  const auto softmax = [&](float v) { return exponential(v - row.x) * scale; };
  if (const int edge = slice.edge(); edge >= 0) {
    slice.row_y[edge] = Type::store(softmax(Type::load(slice.row_x[edge])));
  }
  const int steps = (static_cast<int>(slice.count) + kStep - 1) / kStep;
  for (int step = steps - 1; step >= 0; --step) {
    const int first = step * kStep + static_cast<int>(threadIdx.x);
    Vectors<VEC_ITEMS> vectors;
    vectors.load(loads_of(slice, first));
#pragma unroll
    for (int i = 0; i < VEC_ITEMS; ++i) {
      float v[kVector];
      unpack(vectors.v[i], v);
#pragma unroll
      for (int k = 0; k < kVector; ++k) v[k] = softmax(v[k]);
      vectors.v[i] = pack(v);
    }
    vectors.store(stores_of(slice, first));
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    map_merge(const Storage* x, Storage* y, long long M, long long N, void* workspace, int phase, int parts) {
  __shared__ float2 warps[kWarps];
  let_next_kernel_start();
  wait_for_previous_kernel();
  const unsigned count = parts, r = blockIdx.x / count, own = blockIdx.x % count;
  const Slice<false> slice(x, y, r, own, count, M, N);
  Slot* const slots = slots_of(workspace) + static_cast<long long>(r) * count;
  constexpr unsigned kNoTag = 0;  // the end of a launch orders what it wrote before the next one's reads
  if (phase == 0) {
    leave_state(warps, reduce(slice));
    __syncthreads();
    if (warp_id() != 0) return;
    const float2 state = state_of_block(warps);
    if (lane_id() == 0) publish(slots + own, state, kNoTag);
  } else {
    write(slice, await_long_row(slots, count, kNoTag));
  }
}
