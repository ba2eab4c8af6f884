// A part of a row in a block: VEC_ITEMS vectors of each thread in registers and SHARED_ITEMS in shared memory, as they
// were loaded, and then their exponentials in their place.
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
#include "common/part.cuh"
#include "common/state.cuh"
#include "common/vectors.cuh"

extern __shared__ uint4 held_vectors[];

// Whether a thread has registers to spare while it holds its vectors.
constexpr bool kRoomy = 65536 / (THREADS * BLOCKS) >= 5 * VEC_ITEMS + 30;

// Keeps the compiler from reading the next vector before this one is done with: it would have no registers for it.
__device__ inline void one_at_a_time() {
  asm volatile("" ::: "memory");
}

struct Held {
  static constexpr int kShared = VEC_ITEMS * THREADS;  // the vectors in shared memory follow on those in registers
  Vectors<VEC_ITEMS> vectors;
  float m[VEC_ITEMS];  // what the exponentials of each are taken against
  float shared_m;      // the same for all those in shared memory

  // A thread reads in shared memory what it wrote there itself.
  __device__ static uint4& shared(int item) { return held_vectors[item * THREADS + threadIdx.x]; }

  __device__ void load(const Reach<const Storage*>& from) {
    bool others = false;
    load_shared(from, others);
    vectors.load_whole(from, others);
    if (!others) return;
    vectors.load_others(from);
#pragma unroll 1
    for (int i = 0; i < SHARED_ITEMS; ++i) {
      const int offset = (kShared + i * THREADS) * kVector;
      if (from.partly(offset) && !from.whole(offset)) shared(i) = load_elements(from, offset);
    }
  }

  // Elements become exponentials. The thread's state.
  __device__ float2 reduce() {
    float d[VEC_ITEMS];
    float highest = -kFloatMax;
#pragma unroll
    for (int i = 0; i < VEC_ITEMS; ++i) {
      m[i] = finite(word_max(vector_max(vectors.v[i])));
      d[i] = take_exponentials(vectors.v[i], m[i]);
      highest = fmaxf(highest, m[i]);
    }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < VEC_ITEMS; ++i) sum += d[i] * rescale_factor(m[i] - highest);
    const float2 state = make_float2(highest, sum);
    return SHARED_ITEMS > 0 ? merge(state, reduce_shared()) : state;
  }

  // The softmax, from the state of the row.
  __device__ void store(const Reach<Storage*>& to, float2 row) {
    const float inverse = kUnbias * kLiftInverse * reciprocal(row.y);
#pragma unroll
    for (int i = 0; i < VEC_ITEMS; ++i) vectors.v[i] = scaled(vectors.v[i], exponential(m[i] - row.x) * inverse);
    bool others = false;
    vectors.store_whole(to, others);
    const float shared_scale = SHARED_ITEMS > 0 ? exponential(shared_m - row.x) * inverse : 0.0f;
    store_shared(to, shared_scale, others);
    if (!others) return;
    vectors.store_others(to);
#pragma unroll 1
    for (int i = 0; i < SHARED_ITEMS; ++i) {
      const int offset = (kShared + i * THREADS) * kVector;
      if (to.partly(offset) && !to.whole(offset)) store_elements(to, offset, scaled(shared(i), shared_scale));
    }
  }

 private:
  template <int ITEM = 0>
  __device__ static void load_shared(const Reach<const Storage*>& from, bool& others) {
    if constexpr (ITEM < SHARED_ITEMS) {
      constexpr int kOffset = (kShared + ITEM * THREADS) * kVector;
      if (from.whole<kOffset>()) {
        copy_vector<kOffset>(&shared(ITEM), from.p);
      } else {
        shared(ITEM) = all_minus_infinity();
        others |= from.partly<kOffset>();
      }
      load_shared<ITEM + 1>(from, others);
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

  template <int ITEM = 0>
  __device__ static void store_shared(const Reach<Storage*>& to, float scale, bool& others) {
    if constexpr (ITEM < SHARED_ITEMS) {
      constexpr int kOffset = (kShared + ITEM * THREADS) * kVector;
      const uint4 v = scaled(shared(ITEM), scale);
      if (to.whole<kOffset>()) {
        store_vector<kOffset>(to.p, v);
      } else {
        others |= to.partly<kOffset>();
      }
      store_shared<ITEM + 1>(to, scale, others);
    }
  }
};

// From a part's load to its store. `from` are its loads_of(); merge(state of the thread) gives the state of the row;
// stores() gives the part's stores_of(), worked out at the end where they would take registers of the vectors.
template <typename Merge, typename Stores>
__device__ inline void hold(const Reach<const Storage*>& from, Merge merge, Stores stores) {
  __builtin_assume(__isGlobal(from.p));  // not seen where it changes in a loop
  Held held;
  held.load(from);
  let_next_kernel_start();
  if constexpr (kRoomy) {
    const auto to = stores();  // while the loads are on their way
    held.store(to, merge(held.reduce()));
  } else {
    const float2 row = merge(held.reduce());
    held.store(stores(), row);
  }
}
