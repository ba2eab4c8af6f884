// reduce_once: the practical floor of a kernel that holds a row while it is reduced: it has the launch of such a
// kernel, loads in the same way, reduces once over the same threads, and stores. y is x times the maximum of its row,
// which no store can do without.
//
// OVER says what a row is reduced over: 0 LANES lanes of a warp, ROWS rows each; 1 LANES lanes of a warp with TILE_ROWS
// rows in the block's shared memory (there the maximum of the vectors that these lanes have copied, whichever rows
// they are of); 2 a block; 3 a cluster of PARTS blocks; 4 PARTS blocks of a cooperative launch. Reads 1 and writes 1
// element per element. No softmax, so that no table may have it.
#if OVER == 0
#include "common/group.cuh"
#include "common/share.cuh"
#elif OVER == 1
#include "common/async_copy.cuh"
#include "common/group.cuh"
#include "common/launch.cuh"
#include "common/row.cuh"
#include "common/vectors.cuh"
#else
#if OVER == 4
#define STREAM_ALL true
#endif
#include "common/held.cuh"
#endif
#if OVER == 3
#include "common/cluster.cuh"
#elif OVER == 4
#include "common/exchange.cuh"
#endif

__device__ inline uint4 times(const uint4& vector, float factor) {
  float v[kVector];
  unpack(vector, v);
#pragma unroll
  for (int k = 0; k < kVector; ++k) v[k] *= factor;
  return pack(v);
}

#if OVER == 0

template <bool ALIGNED>
__device__ inline void reduce_rows(const Storage* x, Storage* y, long long M, long long N) {
  for_each_row<ALIGNED>(x, y, M, N,
                        [](const Share<ALIGNED>& share, const LaneVectors& loaded, const Beside<ALIGNED>& beside) {
                          const float m = group_max<LANES>(beside.maximum(share, maximum(loaded)));
                          OpenVectors(loaded).scaled(m).store(share.stores());
                          beside.store_times(share, m);
                        });
}

extern "C" __global__ void __launch_bounds__(THREADS)
    reduce_once(const Storage* x, Storage* y, long long M, long long N) {
  if (rows_are_aligned(x, y, N)) {
    reduce_rows<true>(x, y, M, N);
  } else {
    reduce_rows<false>(x, y, M, N);
  }
}

#elif OVER == 1

extern __shared__ uint4 tile_vectors[];

extern "C" __global__ void __launch_bounds__(THREADS)
    reduce_once(const Storage* x, Storage* y, long long M, long long N) {
  constexpr int kTurn = THREADS * kVector;
  const int begin = static_cast<int>(threadIdx.x) * kVector;
  Row run(x, y, static_cast<long long>(blockIdx.x) * TILE_ROWS, M, N, kNoLimit, TILE_ROWS);
  run.keep();

  wait_for_previous_kernel();
  for (int at = begin; at < run.end; at += kTurn) {
    if (run.safe(at)) {
      copy_vector(tile_vectors + at / kVector, run.x + at);
    } else {
      tile_vectors[at / kVector] = run.fetch(at);
    }
  }
  let_next_kernel_start();
  wait_for_copies();
  __syncthreads();
  unsigned highest = Type::kMinusInfinity;
  for (int at = begin; at < run.end; at += kTurn) {
    const uint4 vector = tile_vectors[at / kVector];
    highest = Type::max_words(highest, vector_max(run.whole(at) ? vector : own_elements(run, at, vector)));
  }
  const float m = group_max<LANES>(word_max(highest));
  for (int at = begin; at < run.end; at += kTurn) run.store(at, times(tile_vectors[at / kVector], m));
}

#else

template <bool ALIGNED>
__device__ inline float largest(const Held<ALIGNED>& held) {
  float m = maximum(held.vectors);
  if (SHARED_ITEMS > 0) wait_for_copies();
#pragma unroll
  for (int i = 0; i < SHARED_ITEMS; ++i) {
    m = fmaxf(m, word_max(vector_max(held.shared(i))));
    one_at_a_time();
  }
  return held.edge_due ? fmaxf(m, Type::load(held.edge())) : m;
}

template <bool ALIGNED>
__device__ inline void store(Held<ALIGNED>& held, const Reach<Storage*, ALIGNED>& to, float factor) {
#pragma unroll
  for (int i = 0; i < VEC_ITEMS; ++i) held.vectors.v[i] = times(held.vectors.v[i], factor);
  held.vectors.store(to);
  if (SHARED_ITEMS > 0) held.store_shared(to, [&](const uint4& v) { return times(v, factor); });
}

// As hold(): merge(maximum of the thread) gives that of the row.
template <bool ALIGNED, typename Merge, typename OfSlice>
__device__ inline void hold_once(const Reach<const Storage*, ALIGNED>& from, Merge merge, OfSlice of_slice) {
  __builtin_assume(__isGlobal(from.p));
  Held<ALIGNED> held;
  const Storage edge = held.load_edge(of_slice);
  held.load(from);
  let_next_kernel_start();
  if (held.edge_due) held.edge() = edge;
  float m;
  if constexpr (kRoomy) {
    const auto to = stores_of(of_slice());
    m = merge(largest(held));
    store(held, to, m);
  } else {
    m = merge(largest(held));
    store(held, stores_of(of_slice()), m);
  }
  held.store_edge(of_slice, [&](float v) { return v * m; });
}

// The maximum of the block, in each of its threads.
__device__ inline float block_max(float m, float* warps) {
  m = group_max<kWidth>(m);
  if (lane_id() == 0) warps[warp_id()] = m;
  __syncthreads();
  return group_max<kWidth>(lane_id() < kWarps ? warps[lane_id()] : minus_infinity());
}

__shared__ float warps[2][kWarps];
#if OVER == 3
__shared__ Mailbox mailbox;
#elif OVER == 4
__shared__ float rows[2];
#endif

template <bool ALIGNED>
__device__ inline void reduce_part(const Storage* x, Storage* y, long long M, long long N, void* workspace) {
#if OVER == 2
  const auto part = [&] { return Slice<ALIGNED>(x, y, block_id(), 0, 1u, M, N, kSlots); };
  const auto from = loads_of(part());

  wait_for_previous_kernel();
  if (blockIdx.x >= M) return;
  hold_once(
      from, [&](float m) { return block_max(m, warps[0]); }, part);
#elif OVER == 3
  const auto part = [&] { return Slice<ALIGNED>(x, y, block_id() / PARTS, block_id() % PARTS, unsigned{PARTS}, M, N); };
  const auto from = loads_of(part());

  wait_for_previous_kernel();
  hold_once(
      from,
      [&](float m) {
        m = block_max(m, warps[0]);
        wait_for_cluster();
        if (warp_id() == 0 && lane_id() < PARTS) mailbox.send(make_float2(m, 0), blockIdx.x % PARTS);
        mailbox.wait();
        m = group_max<kWidth>(lane_id() < PARTS ? mailbox.states[lane_id()].x : minus_infinity());
        arrive_in_cluster();
        return m;
      },
      part);
#else
  unsigned round = 0;
  const auto row = [&] {
    const long long groups = gridDim.x / PARTS;
    return block_id() / PARTS + round * groups;
  };
  const auto part = [&] { return Slice<ALIGNED>(x, y, row(), block_id() % PARTS, unsigned{PARTS}, M, N); };
  auto from = loads_of(part());

  wait_for_previous_kernel();
  const unsigned tag = launch_tag(workspace);
  for (;;) {
    const int half = static_cast<int>(round % 2);
    hold_once(
        from,
        [&](float m) {
          m = block_max(m, warps[half]);
          if (warp_id() == 0) {
            Slot* const of_row = slots_of(workspace) + (block_id() / PARTS * 2 + half) * PARTS;
            if (lane_id() == 0) publish(of_row + block_id() % PARTS, make_float2(m, 0), tag + round / 2);
#pragma unroll
            for (unsigned at = lane_id(); at < PARTS; at += kWarp) m = fmaxf(m, await(of_row + at, tag + round / 2).x);
            __syncwarp();
            m = group_max<kWidth>(m);
            if (lane_id() == 0) rows[half] = m;
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
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    reduce_once(const Storage* x, Storage* y, long long M, long long N, void* workspace) {
#if OVER == 3
  if (threadIdx.x == 0) mailbox.init();
  arrive_in_cluster();
#endif
  if (rows_are_aligned(x, y, N)) {
    reduce_part<true>(x, y, M, N, workspace);
  } else {
    reduce_part<false>(x, y, M, N, workspace);
  }
#if OVER == 3
  wait_for_cluster();
#endif
}

#endif
