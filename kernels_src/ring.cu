// ring: rows in parts that pass through STAGES of shared memory, for long rows (sm_90).
// Parts are handed out by tickets as blocks become free, so that none waits for a slower one, and are loaded by bulk
// copies STAGES - LAG - 1 ahead. A block reduces its part, publishes the state, and writes the part that it reduced LAG
// parts ago, whose row's other states have arrived meanwhile. Launched cooperatively: blocks wait for each other's
// states. None waits for a row before it has published all of its own parts of that row, those that are on their way
// too: without that, two blocks could wait for each other. Reads 1 and writes 1 element per element, and takes one
// exponential, which waits in the element's place.
// M * parts slots of workspace; N <= parts * THREADS * VEC_ITEMS vectors, and parts <= gridDim.x * STAGES: all of a row
// is in the stages at once. A row that is not aligned and has no room for what precedes it in its first vector goes by
// elements.
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
  float2 warps[2][kWarps], early_warps[kWarps];  // states of the warps, in turn, and of a part before its round
  float2 merged;                                 // state of the row that is written

  // By one thread: the part with that ticket on its way into the stage. Tickets are slots, of which the host grants
  // fewer than 2^31. Returns the slot of the row's first part.
  __device__ int fill(int stage, unsigned ticket, unsigned parts, const Storage* x, Storage* y, long long M,
                      long long N) {
    const unsigned row = ticket / parts, row_slot = row * parts;
    if (row >= M) {
      tasks[stage].slot = -1;
      loaded[stage].arm(0);
      return static_cast<int>(row_slot);
    }
    order_before_copies();  // what the block wrote into the stage, before the barrier
    const Part part(x, y, row, ticket - row_slot, parts, M, N);
    tasks[stage] = Task(static_cast<int>(ticket), static_cast<int>(row_slot), part);
    if (!part.row.by_vectors()) {
      loaded[stage].arm(0);
      return static_cast<int>(row_slot);
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
    return static_cast<int>(row_slot);
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

// Each by a warp of its own, where there are so many.
constexpr unsigned kPublisher = 0, kFiller = kWarps - 1, kMerger = kWarps / 2;

// MANY: more parts than a warp has lanes. One warp then merges their states for the block; of fewer, each warp does so
// for itself, which saves a barrier.
template <bool MANY>
__device__ inline void rows_in_parts(Ring& ring, const Storage* x, Storage* y, long long M, long long N,
                                     void* workspace, int parts) {
  const bool fills = threadIdx.x == kFiller * kWarp;
  if (fills) {
    for (int stage = 0; stage < STAGES; ++stage) ring.loaded[stage].init();
    publish_barriers();
  }

  let_next_kernel_start();
  wait_for_previous_kernel();
  // Of the thread that fills, for its next part: taken long before it is looked at.
  const auto take = [&](unsigned count) { return atomicAdd(&header_of(workspace)->next, count); };
  unsigned ticket = 0, taken = 1;
  if (fills) {
    // A round for each stage without tickets.
    for (int stage = 0; stage < kAhead; ++stage) ring.fill(stage, blockIdx.x + stage * gridDim.x, parts, x, y, M, N);
    ticket = take(1);
  }
  const unsigned tag = launch_tag(workspace);
  __syncthreads();

  // By all threads of a block; `states` are those of its warps.
  const auto publish_state = [&](const float2* states, const Task& task) {
    if (warp_id() != kPublisher) return;
    const float2 state = state_of_block(states);
    if (lane_id() == 0) publish(slots_of(workspace) + task.slot, state, tag);
  };
  int stage = 0, filling = kAhead % STAGES;
  unsigned parity = 0;
  bool reduces = true;
  float kept_m[LAG];      // of the parts that are not written yet, the latest first
  int early = 0;          // parts that were reduced before their round
  float early_m[kAhead];  // of these
  for (int round = 0;; ++round) {
    const int old_stage = (stage + STAGES - LAG) % STAGES;
    const Task& old = ring.tasks[old_stage];
    const bool writes = round >= LAG && old.slot >= 0;
    // The states of the row that is written in this round are asked for before they are needed.
    const bool reads_states = !MANY && writes && lane_id() < static_cast<unsigned>(parts);
    const auto slot_of_lane = [&] { return slots_of(workspace) + old.row_slot + lane_id(); };
    Slot seen{};
    if (reads_states) seen = read_slot(slot_of_lane());

    const Task& now = ring.tasks[stage];
    const bool due = reduces && early == 0;
    if (due) {
      ring.loaded[stage].wait(parity);
      reduces = now.slot >= 0;
    }
    if (!reduces && !writes && round >= LAG) break;
    float2(&states)[kWarps] = ring.warps[round % 2];
    float m = 0;
    if (due && reduces) {
      const float2 own = reduce(now, ring_stages + stage * kStageVectors);
      m = own.x;
      leave_state(states, own);
    } else if (early > 0) {
      m = early_m[0];
#pragma unroll
      for (int i = 1; i < kAhead; ++i) early_m[i - 1] = early_m[i];
      --early;
    }
    __syncthreads();  // and everyone has written the part before `old`: its stage is free

    if (reduces) {
      if (fills) {
        if (taken == 0) ticket = take(1);
        const int row_slot = ring.fill(filling, kAhead * gridDim.x + ticket, parts, x, y, M, N);
        // Tickets rise: where this part is of a later row than `old`, so is the next. One of that row would have no
        // stage while the row is waited for.
        taken = writes && row_slot == old.row_slot ? 0 : 1;
        ticket = take(taken);
      }
      if (due) publish_state(states, now);
    }
    if (writes) {
      // What is on its way is of the same row where the latest part is.
#pragma unroll 1
      while (reduces && early < kAhead && ring.tasks[(stage + early) % STAGES].row_slot == old.row_slot) {
        const int next = stage + early + 1;
        const int next_stage = next % STAGES;
        ring.loaded[next_stage].wait(next < STAGES ? parity : parity ^ 1);
        const Task& task = ring.tasks[next_stage];
        reduces = task.slot >= 0;
        if (!reduces) break;
        const float2 own = reduce(task, ring_stages + next_stage * kStageVectors);
#pragma unroll
        for (int i = 0; i < kAhead; ++i) {
          if (i == early) early_m[i] = own.x;
        }
        ++early;
        leave_state(ring.early_warps, own);
        __syncthreads();
        publish_state(ring.early_warps, task);
        __syncthreads();
      }
      float2 state = no_elements();
      if (!MANY) {
        if (reads_states) state = has_tag(seen, tag) ? state_of(seen) : await(slot_of_lane(), tag);
        __syncwarp();
        state = warp_merge(state);
      } else {
        if (warp_id() == kMerger) {
          state = await_long_row(slots_of(workspace) + old.row_slot, parts, tag);
          if (lane_id() == 0) ring.merged = state;
        }
        __syncthreads();
        state = ring.merged;
      }
      write(old, ring_stages + old_stage * kStageVectors, kept_m[LAG - 1], state);
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

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    ring(const Storage* x, Storage* y, long long M, long long N, void* workspace, int /*phase*/, int parts) {
  __shared__ __align__(16) unsigned char ring_memory[sizeof(Ring)];
  Ring& ring = *reinterpret_cast<Ring*>(ring_memory);
  if (parts > kWidth) {
    rows_in_parts<true>(ring, x, y, M, N, workspace, parts);
  } else {
    rows_in_parts<false>(ring, x, y, M, N, workspace, parts);
  }
}
