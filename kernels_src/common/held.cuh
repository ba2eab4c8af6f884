// A slice of a row in a block: VEC_ITEMS vectors of each thread in registers and SHARED_ITEMS in shared memory, as they
// were loaded, and then their exponentials in their place. The few elements beside the vectors are in shared memory.
//
// Each vector's exponentials are taken against its own maximum as soon as it has come: no thread waits for another, nor
// for its own later vectors, before the row's maximum and sum are due. One more exponential for each vector, in the
// factor that makes its elements the softmax, mends it.
#pragma once

// Rows of one part by lines, where that leaves a thread the registers that it needs.
#if defined(PARTS) && PARTS == 1 && SHARED_ITEMS == 0 && 65536 / (THREADS * BLOCKS) >= 5 * VEC_ITEMS + 17
#define BY_LINES true
#endif

#include "common/async_copy.cuh"
#include "common/kept.cuh"
#include "common/launch.cuh"
#include "common/slice.cuh"
#include "common/state.cuh"
#include "common/vectors.cuh"

extern __shared__ uint4 held_vectors[];
__shared__ Storage held_edges[kEdgeThreads];

constexpr int kSlots = THREADS * (VEC_ITEMS + SHARED_ITEMS);  // of the block, for vectors

// Registers of a thread: an SM has four schedulers with 16384 each for the whole warps that they have, by eights.
constexpr int kRegisters = 16384 / ((kWarps * BLOCKS + 3) / 4 * kWarp) / 8 * 8;

// Whether a thread has some to spare while it holds its vectors.
constexpr bool kRoomy = kRegisters >= 5 * VEC_ITEMS + 30;

// Keeps the compiler from reading the next vector before this one is done with: it would have no registers for it.
__device__ inline void one_at_a_time() {
  asm volatile("" ::: "memory");
}

template <bool ALIGNED>
struct Held {
  using Loads = Reach<const Storage*, ALIGNED>;
  using Stores = Reach<Storage*, ALIGNED>;

  Vectors<VEC_ITEMS> vectors;
  float m[VEC_ITEMS];                               // what the exponentials of each are taken against
  float shared_m;                                   // the same for all those in shared memory
  bool edge_due = Slice<ALIGNED>::may_have_edge();  // the thread may have an element beside the vectors

  // A thread reads in shared memory what it wrote there itself.
  __device__ static uint4& shared(int item) { return held_vectors[item * THREADS + threadIdx.x]; }
  __device__ static Storage& edge() { return held_edges[Slice<ALIGNED>::edge_number()]; }

  __device__ void load(const Loads& from) {
    load_shared(from);
    vectors.load(from);
  }

  // The slice is worked out once more by the few threads that may have an element beside the vectors. -inf stands for
  // none.
  template <typename OfSlice>
  __device__ Storage load_edge(OfSlice of_slice) const {
    Storage v = Type::from_bits(Type::kMinusInfinity);
    if (edge_due) {
      const Slice<ALIGNED> slice = of_slice();
      const int at = slice.edge();
      if (at >= 0) v = slice.row_x[at];
    }
    return v;
  }

  // Elements become exponentials. The thread's state. An element beside the vectors goes with the last vector in
  // registers, or comes last where there are none in shared memory: in either case the other way takes more registers.
  __device__ float2 reduce() {
    constexpr int kWithEdge = SHARED_ITEMS > 0 ? VEC_ITEMS - 1 : VEC_ITEMS;
    float d[VEC_ITEMS];
    float highest = -kFloatMax;
#pragma unroll
    for (int i = 0; i < VEC_ITEMS; ++i) {
      float largest = word_max(vector_max(vectors.v[i]));
      if (i == kWithEdge && edge_due) largest = fmaxf(largest, Type::load(edge()));
      m[i] = finite(largest);
      d[i] = take_exponentials(vectors.v[i], m[i]);
      if (i == kWithEdge && edge_due) d[i] += exponential(Type::load(edge()) - m[i]);
      highest = fmaxf(highest, m[i]);
    }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < VEC_ITEMS; ++i) sum += d[i] * rescale_factor(m[i] - highest);
    if (SHARED_ITEMS > 0) return merge(make_float2(highest, sum), reduce_shared());
    if (!edge_due) return make_float2(highest, sum);
    const float m_of_all = fmaxf(highest, Type::load(edge()));
    sum = sum * rescale_factor(highest - m_of_all) + exponential(Type::load(edge()) - m_of_all);
    return make_float2(m_of_all, sum);
  }

  // The softmax, from the state of the row.
  __device__ void store(const Stores& to, float2 row) {
    const float inverse = kUnbias * kLiftInverse * reciprocal(row.y);
#pragma unroll
    for (int i = 0; i < VEC_ITEMS; ++i) vectors.v[i] = scaled(vectors.v[i], exponential(m[i] - row.x) * inverse);
    vectors.store(to);
    if (SHARED_ITEMS > 0) {
      const float scale = exponential(shared_m - row.x) * inverse;
      store_shared(to, [&](const uint4& v) { return scaled(v, scale); });
    }
  }

  // What of_element() makes of the element beside the vectors.
  template <typename OfSlice, typename Of>
  __device__ void store_edge(OfSlice of_slice, Of of_element) const {
    if (!edge_due) return;
    const Slice<ALIGNED> slice = of_slice();
    const int at = slice.edge();
    if (at >= 0) slice.row_y[at] = Type::store(of_element(Type::load(edge())));
  }

  // What of_vector() makes of the vectors in shared memory.
  template <typename Of>
  __device__ static void store_shared(const Stores& to, Of of_vector) {
    if (to.aligned()) {
      store_shared_whole<0>(to, of_vector);
      return;
    }
#pragma unroll 1
    for (int i = 0; i < SHARED_ITEMS; ++i) {
      if (to.holds(VEC_ITEMS + i)) store_elements(to.p + (VEC_ITEMS + i) * kStride, of_vector(shared(i)));
    }
  }

 private:
  static constexpr int kStride = Vectors<VEC_ITEMS>::kStride;

  // Those in shared memory follow on those in registers.
  template <int ITEM = 0>
  __device__ static void load_shared(const Loads& from) {
    if constexpr (ITEM < SHARED_ITEMS) {
      if (from.template holds<VEC_ITEMS + ITEM>()) {
        copy_vector<(VEC_ITEMS + ITEM) * kStride>(&shared(ITEM), from.p, from.kStreamed);
      } else {
        shared(ITEM) = all_minus_infinity();
      }
      load_shared<ITEM + 1>(from);
    }
  }

  __device__ float2 reduce_shared() {
    wait_for_copies();
    float highest = -kFloatMax;
#pragma unroll
    for (int i = 0; i < SHARED_ITEMS; ++i) {
      highest = fmaxf(highest, word_max(vector_max(shared(i))));
      one_at_a_time();
    }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < SHARED_ITEMS; ++i) {
      uint4 v = shared(i);
      sum += take_exponentials(v, highest);
      shared(i) = v;
      one_at_a_time();
    }
    shared_m = highest;
    return make_float2(highest, sum);
  }

  template <int ITEM, typename Of>
  __device__ static void store_shared_whole(const Stores& to, Of of_vector) {
    if constexpr (ITEM < SHARED_ITEMS) {
      const uint4 v = of_vector(shared(ITEM));
      if (to.template holds<VEC_ITEMS + ITEM>()) store_vector<(VEC_ITEMS + ITEM) * kStride>(to.p, v, to.kStreamed);
      store_shared_whole<ITEM + 1>(to, of_vector);
    }
  }
};

// From a slice's load to its store. `from` are its loads_of(); merge(state of the thread) gives the state of the row;
// of_slice() gives the slice, worked out at the end where it would take registers of the vectors.
template <bool ALIGNED, typename Merge, typename OfSlice>
__device__ inline void hold(const Reach<const Storage*, ALIGNED>& from, Merge merge, OfSlice of_slice) {
  __builtin_assume(__isGlobal(from.p));  // not seen where it changes in a loop
  Held<ALIGNED> held;
  const Storage edge = held.load_edge(of_slice);
  held.load(from);
  let_next_kernel_start();
  if (held.edge_due) held.edge() = edge;
  float2 row;
  if constexpr (kRoomy) {
    const auto to = stores_of(of_slice());  // while the loads are on their way
    row = merge(held.reduce());
    held.store(to, row);
  } else {
    row = merge(held.reduce());
    held.store(stores_of(of_slice()), row);
  }
  held.store_edge(of_slice, [&](float v) { return exponential(v - row.x) * reciprocal(row.y); });
}
