// ring: rows in parts that pass through STAGES of shared memory, for long rows (sm_90).
// The warps of a block have each their own work, so that none waits for more than its own needs. One thread fills
// stages: it takes tickets for parts as stages become free, so that no block waits for a slower one, and asks for bulk
// copies, AHEAD at once at most: more only wait longer for memory, all of them. THREADS threads reduce what has arrived
// and publish its state. A warp waits for the states of its row. As many threads as reduce then write the part.
// Launched cooperatively: blocks wait for each other's states. No part that a block holds waits to be published, and a
// ticket is taken for a stage whose part waits for nobody any more: without that, two blocks could wait for each other.
// Reads 1 and writes 1 element per element, and takes one exponential, which waits in the element's place.
//
// STREAM: with 1 what is stored is marked as first to leave the caches, with 2 what is loaded, too.
//
// blockDim.x is 2 * THREADS + 64. M * parts slots of workspace; N <= parts * THREADS * VEC_ITEMS vectors, and
// parts <= min(256, gridDim.x * STAGES): all of a row is in the stages at once. A row that is not aligned and has no
// room for what precedes it in its first vector goes by elements.
#include "common/bulk.cuh"
#include "common/exchange.cuh"
#include "common/kept.cuh"
#include "common/launch.cuh"
#include "common/row.cuh"
#include "common/vectors.cuh"

constexpr int kStageVectors = THREADS * VEC_ITEMS;
constexpr int kBlockThreads = 2 * THREADS + 2 * kWidth;

// Bulk copies to what begins within a line of shared memory take longer.
constexpr int kLineBytes = 16 * kLineVectors;

alignas(kLineBytes) extern __shared__ uint4 ring_stages[];

// The row that ends where part number `part` ends, and the first vector of that part: those that cover the row are
// dealt out.
struct Part {
  Row row;
  int first;

  Part() = default;
  __device__ Part(const Storage* x, Storage* y, long long r, unsigned part, unsigned parts, long long M, long long N)
      : row(x, y, r, M, N, static_cast<int>(parts) * kStageVectors * kVector) {
    const unsigned vectors = (row.end + kVector - 1) / kVector;
    const Deal dealt(vectors, part, parts);
    first = static_cast<int>(dealt.first);
    const int last = static_cast<int>(dealt.first + dealt.count) * kVector;
    // A part without vectors has no elements either, wherever the row begins in its first vector.
    row.end = max(row.skew, min(row.end, last));
    row.safe_end = min(row.safe_end, last);
  }
};

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

constexpr int kMostParts = 256;  // as in ring.cpp

// Of a stage, in this order: its part has arrived; the threads that reduce are done with it; the state of its row is
// there; it is written, and the state of the part published. Every thread arrives for itself: a lane that does so for
// its warp after __syncwarp() is no faster, and compute-sanitizer's racecheck does not see what the others did.
struct Ring {
  __align__(kLineBytes) Slot slots[kMostParts];  // states of a row's parts, as they were seen last
  CopyBarrier seen;
  CopyBarrier loaded[STAGES], reduced[STAGES], merged[STAGES], written[STAGES];
  Task tasks[STAGES];
  float2 warps[STAGES][kWarps];  // states of the warps that reduce
  float2 rows[STAGES];           // states of the rows
  float m[STAGES][THREADS];      // what reduce() took the exponentials against

  // By a thread for each stage.
  __device__ void init(int stage) {
    loaded[stage].init(1);
    reduced[stage].init(THREADS);
    merged[stage].init(kWidth);
    written[stage].init(THREADS + kWidth);
    if (stage == 0) seen.init(1);
    publish_barriers();
  }

  // By one thread: the part with that ticket on its way into the stage. Tickets are slots, of which the host grants
  // fewer than 2^31. False where no part is left.
  __device__ bool fill(int stage, unsigned ticket, unsigned parts, const Storage* x, Storage* y, long long M,
                       long long N) {
    const unsigned row = ticket / parts, row_slot = row * parts;
    if (row >= M) {
      tasks[stage].slot = -1;
      loaded[stage].arm(0);
      return false;
    }
    order_before_copies();  // what the block wrote into the stage
    const Part part(x, y, row, ticket - row_slot, parts, M, N);
    tasks[stage] = Task(static_cast<int>(ticket), static_cast<int>(row_slot), part);
    if (!part.row.by_vectors()) {
      loaded[stage].arm(0);
      return true;
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
      bulk_copy<(STREAM > 1)>(to + (from - part.first), part.row.x + static_cast<long long>(from) * kVector, bytes,
                              loaded + stage);
    }
    return true;
  }
};

__device__ inline int position(const Part& part, int number) {
  return (part.first + number) * kVector;
}

// The state of the share of a part that thread `first` of THREADS has, whose exponentials take the elements' place in
// the stage.
__device__ inline float2 reduce(const Task& task, uint4* stage, int first) {
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

// part_m is the maximum that reduce() gave the thread of this number.
__device__ inline void write(const Task& task, const uint4* stage, float part_m, float2 row, int first) {
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

// Stages in turn, and the parity of their barriers' phase.
struct Turn {
  int stage = 0;
  unsigned parity = 0;

  __device__ void next() {
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
};

struct Launch {
  Ring& ring;
  const Storage* x;
  Storage* y;
  long long M, N;
  void* workspace;
  int parts;
  unsigned tag;

  __device__ void fill_stages() const {
    Turn turn, oldest;  // the oldest that may be on its way
    for (unsigned round = 0;; ++round) {
      if (AHEAD < STAGES && round >= AHEAD) {
        ring.reduced[oldest.stage].wait(oldest.parity);
        oldest.next();
      }
      // A round for each stage without tickets.
      unsigned ticket = round * gridDim.x + blockIdx.x;
      if (round >= STAGES) {
        // Asked for as the stage's part is being written, the ticket is there when that is done.
        ring.merged[turn.stage].wait(turn.parity ^ 1);
        ticket = STAGES * gridDim.x + atomicAdd(&header_of(workspace)->next, 1);
        ring.written[turn.stage].wait(turn.parity ^ 1);
      }
      if (!ring.fill(turn.stage, ticket, parts, x, y, M, N)) break;
      turn.next();
    }
  }

  // By warps 0 ... kWarps - 1, which publish in turn.
  __device__ void reduce_parts() const {
    const int thread = static_cast<int>(threadIdx.x);
    Turn turn;
    for (unsigned publisher = 0;; publisher = (publisher + 1) % kWarps) {
      const int stage = turn.stage;
      ring.loaded[stage].wait(turn.parity);
      const Task& task = ring.tasks[stage];
      if (task.slot < 0) break;
      const float2 own = reduce(task, ring_stages + stage * kStageVectors, thread);
      ring.m[stage][thread] = own.x;
      leave_state(ring.warps[stage], own);
      ring.reduced[stage].arrive();
      if (warp_id() == publisher) {
        ring.reduced[stage].wait(turn.parity);
        const float2 state = state_of_block(ring.warps[stage]);
        if (lane_id() == 0) publish(slots_of(workspace) + task.slot, state, tag);
        ring.written[stage].arrive();
      }
      turn.next();
    }
  }

  // By one warp: the state of the row of the task. The slots come by bulk copies, which don't queue behind the vectors
  // that the block is storing, as loads do. A copy may read a slot before it is written, or after: its tag says which.
  __device__ float2 await_row_of(const Task& task, unsigned& parity) const {
    const unsigned bytes = parts * static_cast<unsigned>(sizeof(Slot));
    float2 state;
    bool there;
    do {
      __syncwarp();  // all lanes are done with the last copy
      if (lane_id() == 0) {
        ring.seen.arm(bytes);
        bulk_copy(ring.slots, slots_of(workspace) + task.row_slot, bytes, &ring.seen);
      }
      ring.seen.wait(parity);
      parity ^= 1;
      state = make_float2(-kFloatMax, 0.0f);  // of none, with a finite maximum, as merge() asks
      there = true;
#pragma unroll 1
      for (int at = static_cast<int>(lane_id()); at < parts; at += kWidth) {
        there = there && has_tag(ring.slots[at], tag);
        state = merge(state, state_of(ring.slots[at]));
      }
    } while (!__all_sync(kFullMask, there));
    return warp_merge(state);
  }

  // By one warp, which is the last to use the workspace.
  __device__ void merge_rows() const {
    unsigned parity = 0;  // of the copies of slots
    for (Turn turn;; turn.next()) {
      const int stage = turn.stage;
      ring.loaded[stage].wait(turn.parity);
      const Task& task = ring.tasks[stage];
      if (task.slot < 0) break;
      const float2 row = await_row_of(task, parity);
      if (lane_id() == 0) ring.rows[stage] = row;
      ring.merged[stage].arrive();
      __syncwarp();
    }
    if (lane_id() == 0) leave(workspace, tag);
  }

  // By thread number `thread` of THREADS.
  __device__ void write_parts(int thread) const {
    for (Turn turn;; turn.next()) {
      const int stage = turn.stage;
      ring.loaded[stage].wait(turn.parity);
      const Task& task = ring.tasks[stage];
      if (task.slot < 0) break;
      ring.reduced[stage].wait(turn.parity);
      ring.merged[stage].wait(turn.parity);
      write(task, ring_stages + stage * kStageVectors, ring.m[stage][thread], ring.rows[stage], thread);
      ring.written[stage].arrive();
    }
  }
};

extern "C" __global__ void __launch_bounds__(kBlockThreads, BLOCKS)
    ring(const Storage* x, Storage* y, long long M, long long N, void* workspace, int /*phase*/, int parts) {
  __shared__ __align__(alignof(Ring)) unsigned char ring_memory[sizeof(Ring)];
  Ring& ring = *reinterpret_cast<Ring*>(ring_memory);
  if (threadIdx.x < STAGES) ring.init(static_cast<int>(threadIdx.x));
  let_next_kernel_start();
  wait_for_previous_kernel();
  __syncthreads();

  const Launch launch{ring, x, y, M, N, workspace, parts, launch_tag(workspace)};
  const unsigned warp = warp_id();
  if (warp < kWarps) {
    launch.reduce_parts();
  } else if (warp < 2 * kWarps) {
    launch.write_parts(static_cast<int>(threadIdx.x) - THREADS);
  } else if (warp == 2 * kWarps) {
    if (lane_id() == 0) launch.fill_stages();
  } else {
    launch.merge_rows();
  }
}
