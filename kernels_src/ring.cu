// ring: rows in parts that pass through STAGES of shared memory, for long rows (sm_90).
// Parts are handed out by tickets as blocks become free, so that none waits for a slower one, and are loaded by bulk
// copies STAGES - LAG - 1 ahead. A block reduces its part, publishes the state, and writes the part that it reduced LAG
// parts ago, whose row's other states have arrived meanwhile. It publishes before it waits: both parts may be of one
// row. Launched cooperatively: blocks wait for each other's states. Reads 1 and writes 1 element per element, and takes
// one exponential, which waits in the element's place.
// M * parts slots of workspace; N <= parts * THREADS * VEC_ITEMS vectors; a row that is not aligned and has no room for
// what precedes it in its first vector goes by elements.
#include "common/bulk.cuh"
#include "common/exchange.cuh"
#include "common/kept.cuh"
#include "common/launch.cuh"

#define SHARED_ITEMS 0
#include "common/part.cuh"
#include "common/vectors.cuh"

constexpr int kStageVectors = THREADS * VEC_ITEMS;
constexpr int kAhead = STAGES - LAG - 1;

extern __shared__ uint4 ring_stages[];

// A part, by one thread for all: its addresses cost more instructions than the exponentials of a vector.
struct Task {
  int slot;          // of the part's state; -1: no part is left
  int row_slot;      // of the row's first part
  int vectors;       // of the part
  int first, whole;  // number of its first one that is stored as it is, and how many are
  Part part;

  Task() = default;
  __device__ Task(int slot, int row_slot, const Part& part) : slot(slot), row_slot(row_slot), part(part) {
    const Row& row = part.row;
    vectors = (row.end + kVector - 1) / kVector - part.first;
    first = part.first * kVector < row.skew ? 1 : 0;
    whole = row.same_skew ? max(0, row.end / kVector - part.first - first) : 0;
  }
};

struct Ring {
  CopyBarrier loaded[STAGES];
  Task tasks[STAGES];

  // By one thread: the part with that ticket on its way into the stage. Tickets are slots, of which the host grants
  // fewer than 2^31.
  __device__ void fill(int stage, unsigned ticket, unsigned parts, const Storage* x, Storage* y, long long M,
                       long long N) {
    const unsigned row = ticket / parts, row_slot = row * parts;
    if (row >= M) {
      tasks[stage].slot = -1;
      loaded[stage].arm(0);
      return;
    }
    order_before_copies();  // what the block wrote into the stage, before the barrier
    const Part part(x, y, row, ticket - row_slot, parts, M, N);
    tasks[stage] = Task(static_cast<int>(ticket), static_cast<int>(row_slot), part);
    if (!part.row.by_vectors()) {
      loaded[stage].arm(0);
      return;
    }
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

__device__ inline int position(const Part& part, int number) {
  return (part.first + number) * kVector;
}

// The state of a thread's share of a part, whose exponentials take the elements' place in the stage.
__device__ inline float2 reduce(const Task& task, uint4* stage) {
  const int first = static_cast<int>(threadIdx.x);
  if (task.vectors != task.whole) {
#pragma unroll 1
    for (int number = first; number < task.vectors; number += THREADS) {
      const Row& row = task.part.row;
      const int at = position(task.part, number);
      if (row.by_vectors() && row.whole(at)) continue;
      stage[number] = own_elements(row, at, row.by_vectors() ? stage[number] : row.fetch_own(at));
    }
  }
  uint4 v[VEC_ITEMS];
  unsigned word = Type::kMinusInfinity;
#pragma unroll
  for (int i = 0; i < VEC_ITEMS; ++i) {
    v[i] = first + i * THREADS < task.vectors ? stage[first + i * THREADS] : all_minus_infinity();
    word = Type::max_words(word, vector_max(v[i]));
  }
  const float m = finite(word_max(word));
  float sum = 0;
#pragma unroll
  for (int i = 0; i < VEC_ITEMS; ++i) {
    sum += take_exponentials(v[i], m);
    stage[first + i * THREADS] = v[i];
  }
  return make_float2(m, sum);
}

// part_m is the maximum that reduce() gave this thread.
__device__ inline void write(const Task& task, const uint4* stage, float part_m, float2 row) {
  const int first = static_cast<int>(threadIdx.x);
  const float scale = kUnbias * rescaled_reciprocal(part_m, row.x, row.y);
  const Row& row_of_part = task.part.row;
  Storage* const y = row_of_part.y + static_cast<long long>(position(task.part, first));
  const unsigned whole = task.whole;
#pragma unroll
  for (int i = 0; i < VEC_ITEMS; ++i) {
    const int number = first + i * THREADS;
    if (static_cast<unsigned>(number - task.first) < whole)
      store_vector(y + i * THREADS * kVector, scaled(stage[number], scale));
  }
  if (task.vectors == task.whole) return;
#pragma unroll 1
  for (int number = first; number < task.vectors; number += THREADS) {
    if (static_cast<unsigned>(number - task.first) >= whole)
      row_of_part.store_own(position(task.part, number), scaled(stage[number], scale));
  }
}

// Each by a warp of its own, where there are two.
constexpr unsigned kPublisher = 0, kFiller = kWarps - 1;

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    ring(const Storage* x, Storage* y, long long M, long long N, void* workspace, int /*phase*/, int parts) {
  __shared__ float2 warps[2][kWarps];
  __shared__ __align__(16) unsigned char ring_memory[sizeof(Ring)];
  Ring& ring = *reinterpret_cast<Ring*>(ring_memory);
  const bool fills = threadIdx.x == kFiller * kWarp;
  if (fills) {
    for (int stage = 0; stage < STAGES; ++stage) ring.loaded[stage].init();
    publish_barriers();
  }

  let_next_kernel_start();
  wait_for_previous_kernel();
  unsigned ticket = 0;  // of the thread that fills: for its next one
  if (fills) {
    // A round for each stage without tickets.
    for (int stage = 0; stage < kAhead; ++stage) ring.fill(stage, blockIdx.x + stage * gridDim.x, parts, x, y, M, N);
    ticket = kAhead * gridDim.x + atomicAdd(&header_of(workspace)->next, 1u);
  }
  const unsigned tag = launch_tag(workspace);
  __syncthreads();

  int stage = 0, filling = kAhead % STAGES;
  unsigned parity = 0;
  bool reduces = true;
  float kept_m[LAG];  // of the parts that are not written yet, the latest first
  for (int round = 0;; ++round) {
    const int old_stage = (stage + STAGES - LAG) % STAGES;
    const Task& old = ring.tasks[old_stage];
    const bool writes = round >= LAG && old.slot >= 0;
    // The states of the row that is written in this round are asked for before they are needed.
    const bool reads_states = writes && lane_id() < static_cast<unsigned>(parts);
    const auto slot_of_lane = [&] { return slots_of(workspace) + old.row_slot + lane_id(); };
    Slot early{};
    if (reads_states) early = read_slot(slot_of_lane());

    const Task& now = ring.tasks[stage];
    if (reduces) {
      ring.loaded[stage].wait(parity);
      reduces = now.slot >= 0;
    }
    if (!reduces && !writes && round >= LAG) break;
    float2(&states)[kWarps] = warps[round % 2];
    float m = 0;
    if (reduces) {
      const float2 own = reduce(now, ring_stages + stage * kStageVectors);
      m = own.x;
      leave_state(states, own);
    }
    __syncthreads();  // and everyone has written the part before `old`: its stage is free

    if (reduces) {
      if (fills) {
        ring.fill(filling, ticket, parts, x, y, M, N);
        ticket = kAhead * gridDim.x + atomicAdd(&header_of(workspace)->next, 1u);
      }
      if (warp_id() == kPublisher) {
        const float2 state = state_of_block(states);
        if (lane_id() == 0) publish(slots_of(workspace) + now.slot, state, tag);
      }
    }
    if (writes) {
      float2 state = no_elements();
      if (reads_states) state = has_tag(early, tag) ? state_of(early) : await(slot_of_lane(), tag);
      __syncwarp();
      write(old, ring_stages + old_stage * kStageVectors, kept_m[LAG - 1], warp_merge(state));
    }
#pragma unroll
    for (int i = LAG - 1; i > 0; --i) kept_m[i] = kept_m[i - 1];
    kept_m[0] = m;
    if (++filling == STAGES) filling = 0;
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
  if (fills) leave(workspace, tag);
}
