// ring: rows in PARTS parts that pass through STAGES of shared memory, for long rows (sm_90).
// Parts are handed out by tickets as blocks become free, so that none waits for a slower one, and are loaded by bulk
// copies STAGES - LAG - 1 ahead. A block reduces its part, publishes the state, and writes the part that it reduced LAG
// parts ago, whose row's other states have arrived meanwhile. Launched cooperatively: blocks wait for each other's
// states. Reads 1 and writes 1 element per element; two exponentials per element, since the part stays as it was
// loaded. M * PARTS slots of workspace; N <= PARTS * THREADS * VEC_ITEMS vectors less one.
#include "common/bulk.cuh"
#include "common/exchange.cuh"
#include "common/launch.cuh"

#define SHARED_ITEMS 0
#include "common/part.cuh"
#include "common/vectors.cuh"

constexpr int kStageVectors = THREADS * VEC_ITEMS;
constexpr int kAhead = STAGES - LAG - 1;

extern __shared__ uint4 ring_stages[];

struct Task {
  long long row;  // -1: none is left
  int part;
};

struct Ring {
  CopyBarrier loaded[STAGES];
  Task tasks[STAGES];

  // By one thread: the part with that ticket on its way into the stage.
  __device__ void fill(int stage, long long ticket, const Storage* x, Storage* y, long long M, long long N) {
    const long long row = ticket / PARTS;
    const int number = static_cast<int>(ticket % PARTS);
    tasks[stage] = {row < M ? row : -1, number};
    if (row >= M) {
      loaded[stage].arm(0);
      return;
    }
    const Part part(x, y, row, number, M, N);
    uint4* const to = ring_stages + stage * kStageVectors;
    int from = part.first;
    int end = (part.row.end + kVector - 1) / kVector;
    // Vectors that must not be read as a whole are at the ends alone.
    if (from < end && !part.row.safe(from * kVector)) {
      *to = part.row.fetch(from * kVector);
      ++from;
    }
    if (from < end && !part.row.safe((end - 1) * kVector)) {
      --end;
      to[end - part.first] = part.row.fetch(end * kVector);
    }
    const unsigned bytes = static_cast<unsigned>(end - from) * 16;
    loaded[stage].arm(bytes);
    if (bytes > 0) {
      bulk_copy(to + (from - part.first), part.row.x + static_cast<long long>(from) * kVector, bytes, loaded + stage);
    }
  }
};

// The state of a thread's share of a part.
__device__ inline float2 reduce(const Part& part, const uint4* stage) {
  Vectors<VEC_ITEMS> vectors;
#pragma unroll
  for (int i = 0; i < VEC_ITEMS; ++i) {
    const int number = i * THREADS + static_cast<int>(threadIdx.x);
    const int at = (part.first + number) * kVector;
    vectors.v[i] = stage[number];
    if (!part.row.whole(at)) vectors.v[i] = own_elements(part.row, at, vectors.v[i]);
  }
  const float m = finite(group_max<kWidth>(maximum(vectors)));
  float sum[4] = {};
#pragma unroll
  for (int i = 0; i < VEC_ITEMS; ++i) {
    float v[kVector];
    unpack(vectors.v[i], v);
#pragma unroll
    for (int k = 0; k < kVector; ++k) sum[k % 4] += exponential(v[k] - m);
  }
  return make_float2(m, group_sum<kWidth>((sum[0] + sum[1]) + (sum[2] + sum[3])));
}

__device__ inline void write(const Part& part, const uint4* stage, float2 row) {
  const float scale = reciprocal(row.y);
  Vectors<VEC_ITEMS> vectors;
#pragma unroll
  for (int i = 0; i < VEC_ITEMS; ++i) {
    float v[kVector];
    unpack(stage[i * THREADS + threadIdx.x], v);
#pragma unroll
    for (int k = 0; k < kVector; ++k) v[k] = exponential(v[k] - row.x) * scale;
    vectors.v[i] = pack(v);
  }
  vectors.store(part.row, part.first + static_cast<int>(threadIdx.x));
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    ring(const Storage* x, Storage* y, long long M, long long N, void* workspace) {
  __shared__ float2 warps[2][kWarps];
  __shared__ Ring ring;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) ring.loaded[stage].init();
    publish_barriers();
  }

  let_next_kernel_start();
  wait_for_previous_kernel();
  long long ticket = 0;  // of the first thread: for its next fill
  unsigned* const next = &header_of(workspace)->next;
  const long long dealt = static_cast<long long>(kAhead) * gridDim.x;  // without tickets, a round for each stage
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kAhead; ++stage) {
      ring.fill(stage, blockIdx.x + static_cast<long long>(stage) * gridDim.x, x, y, M, N);
    }
    ticket = dealt + atomicAdd(next, 1u);
  }
  const unsigned tag = launch_tag(workspace);
  Slot* const slots = slots_of(workspace);
  __syncthreads();

  int stage = 0, filling = kAhead % STAGES;
  unsigned parity = 0;
  Task now{};
  for (int round = 0;; ++round) {
    // The part that is written in this round: its row's states are asked for before they are needed.
    const int old_stage = (stage + STAGES - LAG) % STAGES;
    const Task old = round >= LAG ? ring.tasks[old_stage] : Task{-1, 0};
    const Slot* const of_row = slots + old.row * PARTS + lane_id();
    Slot early{};
    if (old.row >= 0 && lane_id() < PARTS) early = read_slot(of_row);

    if (now.row >= 0) {
      ring.loaded[stage].wait(parity);
      now = ring.tasks[stage];
    }
    if (now.row < 0 && old.row < 0 && round >= LAG) break;
    float2(&states)[kWarps] = warps[round % 2];
    if (now.row >= 0) {
      const float2 state = reduce(Part(x, y, now.row, now.part, M, N), ring_stages + stage * kStageVectors);
      if (lane_id() == 0) states[warp_id()] = state;
    }
    __syncthreads();  // and everyone has written the part before `old`: its stage is free

    if (now.row >= 0) {
      if (threadIdx.x == 0) {
        ring.fill(filling, ticket, x, y, M, N);
        ticket = dealt + atomicAdd(next, 1u);
      }
      if (warp_id() == 0) {
        const float2 state = warp_merge(lane_id() < kWarps ? states[lane_id()] : no_elements());
        if (lane_id() == 0) publish(slots + now.row * PARTS + now.part, state, tag);
      }
    }
    if (old.row >= 0) {
      float2 state = no_elements();
      if (lane_id() < PARTS) state = has_tag(early, tag) ? state_of(early) : await(of_row, tag);
      __syncwarp();
      write(Part(x, y, old.row, old.part, M, N), ring_stages + old_stage * kStageVectors, warp_merge(state));
    }
    if (++filling == STAGES) filling = 0;
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
  if (threadIdx.x == 0) leave(workspace, tag);
}
