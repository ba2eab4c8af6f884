// A thread's vectors of a row, held as they were loaded: VEC_ITEMS of them in registers and SHARED_ITEMS in shared
// memory. Elements that are not of the row are made -inf when they arrive, so that nothing after that asks which they
// are. With KEEP the exponentials of those in registers take their place for the output; otherwise every element costs
// a second exponential and 16-bit types half the registers, so that more rows are on their way at once.
#pragma once

#include "common/exponential.cuh"
#include "common/row.cuh"

// The larger of two words' elements, each with each. A NaN is dropped, as by fmaxf.
__device__ inline unsigned max_words(unsigned a, unsigned b) {
  return Type::max_words(a, b);
}

__device__ inline unsigned vector_max(const uint4& v) {
  return max_words(max_words(v.x, v.y), max_words(v.z, v.w));
}

__device__ inline float word_max(unsigned word) {
  float v[kPerWord];
  Type::unpack(word, v);
  float m = v[0];
#pragma unroll
  for (int k = 1; k < kPerWord; ++k) m = fmaxf(m, v[k]);
  return m;
}

constexpr unsigned kElementMask = kElementBytes == 4 ? 0xffffffffu : 0xffffu;

// The vector at a position with -inf in the place of what is not of the run.
__device__ inline uint4 own_elements(const Row& row, int at, const uint4& vector) {
  if (row.whole(at)) return vector;
  unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    const unsigned mask = kElementMask << k % kPerWord * 8 * kElementBytes;
    if (!row.holds(at + k)) words[k / kPerWord] = (words[k / kPerWord] & ~mask) | (Type::kMinusInfinity & mask);
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// Past the registers from compute capability 8.0 on; complete after wait_for_copies() in the thread that asked.
__device__ inline void copy_vector(uint4* to, const Storage* from) {
#if __CUDA_ARCH__ >= 800
  const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
#else
  *to = load_vector(from);
#endif
}

__device__ inline void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

extern __shared__ uint4 held_vectors[];

struct Held {
  uint4 vectors[VEC_ITEMS];
  float kept[KEEP ? VEC_ITEMS : 1][kVector];

  // Vectors first, first + THREADS, ... of the row. A thread reads in shared memory what it wrote there itself.
  __device__ void load(const Row& row, int first) {
    const int at = first * kVector;
#pragma unroll
    for (int i = 0; i < SHARED_ITEMS; ++i) {
      const int position = at + (VEC_ITEMS + i) * THREADS * kVector;
      uint4* const to = held_vectors + i * THREADS + threadIdx.x;
      if (row.whole(position) && row.safe(position)) {
        copy_vector(to, row.x + position);
      } else {
        *to = own_elements(row, position, row.fetch(position));
      }
    }
    fetch(row, at);
    if (SHARED_ITEMS > 0) wait_for_copies();
  }

  template <int ITEM = 0>
  __device__ void fetch(const Row& row, int at) {
    if constexpr (ITEM < VEC_ITEMS) {
      constexpr int kOffset = ITEM * THREADS * kVector;
      vectors[ITEM] = row.fetch<kOffset>(at);
      fetch<ITEM + 1>(row, at);
      vectors[ITEM] = own_elements(row, at + kOffset, vectors[ITEM]);
    }
  }

  __device__ static uint4 shared(int item) { return held_vectors[item * THREADS + threadIdx.x]; }

  __device__ float maximum() const {
    unsigned word = vector_max(vectors[0]);
#pragma unroll
    for (int i = 1; i < VEC_ITEMS; ++i) word = max_words(word, vector_max(vectors[i]));
#pragma unroll
    for (int i = 0; i < SHARED_ITEMS; ++i) word = max_words(word, vector_max(shared(i)));
    return word_max(word);
  }

  // The sum of exponential(element - m), by four chains of additions.
  __device__ float exponentials(float m) {
    float sum[4] = {};
#pragma unroll
    for (int i = 0; i < VEC_ITEMS + SHARED_ITEMS; ++i) {
      const bool keep = KEEP && i < VEC_ITEMS;
      float scratch[kVector];
      float* const v = keep ? kept[i % (KEEP ? VEC_ITEMS : 1)] : scratch;
      unpack(i < VEC_ITEMS ? vectors[i % VEC_ITEMS] : shared(i - VEC_ITEMS), v);
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        v[k] = exponential(v[k] - m);
        sum[k % 4] += v[k];
      }
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }

  // The softmax. part_m is what exponentials() was given; m and sum are of the row.
  template <int ITEM = 0>
  __device__ void store(const Row& row, int first, float part_m, float m, float sum) {
    if constexpr (ITEM < VEC_ITEMS + SHARED_ITEMS) {
      constexpr bool kKeep = KEEP && ITEM < VEC_ITEMS;
      const float scale = kKeep ? rescaled_reciprocal(part_m, m, sum) : reciprocal(sum);
      float scratch[kVector];
      float* const v = kKeep ? kept[ITEM % (KEEP ? VEC_ITEMS : 1)] : scratch;
      if constexpr (!kKeep) {
        unpack(ITEM < VEC_ITEMS ? vectors[ITEM % VEC_ITEMS] : shared(ITEM - VEC_ITEMS), v);
#pragma unroll
        for (int k = 0; k < kVector; ++k) v[k] = exponential(v[k] - m);
      }
#pragma unroll
      for (int k = 0; k < kVector; ++k) v[k] *= scale;
      row.store<ITEM * THREADS * kVector>(first * kVector, pack(v));
      store<ITEM + 1>(row, first, part_m, m, sum);
    }
  }
};
