// A thread's vectors of a row, held as they were loaded: VEC_ITEMS of them in registers and SHARED_ITEMS in shared
// memory. With KEEP the exponentials of those in registers take their place for the output; otherwise every element
// costs a second exponential and 16-bit types half the registers, so that more rows are on their way at once.
#pragma once

#include "common/async_copy.cuh"
#include "common/exponential.cuh"
#include "common/vectors.cuh"

extern __shared__ uint4 held_vectors[];

struct Held {
  static constexpr int kShared = VEC_ITEMS * THREADS;  // the vectors in shared memory follow on those in registers
  Vectors<VEC_ITEMS> vectors;
  float kept[KEEP ? VEC_ITEMS : 1][kVector];

  // A thread reads in shared memory what it wrote there itself.
  __device__ static uint4& shared(int item) { return held_vectors[item * THREADS + threadIdx.x]; }

  // Vectors first, first + THREADS, ... of the row.
  __device__ void load(const Row& row, int first) {
#pragma unroll 1
    for (int i = 0; i < SHARED_ITEMS; ++i) {
      const int at = (first + kShared + i * THREADS) * kVector;
      if (row.whole(at) && row.safe(at)) {
        copy_vector(&shared(i), row.x + at);
      } else {
        shared(i) = own_elements(row, at, row.fetch(at));
      }
    }
    vectors.load(row, first);
    if (SHARED_ITEMS > 0) wait_for_copies();
  }

  __device__ float maximum() const {
    float m = ::maximum(vectors);
#pragma unroll
    for (int i = 0; i < SHARED_ITEMS; ++i) m = fmaxf(m, word_max(vector_max(shared(i))));
    return m;
  }

  // The sum of exponential(element - m), by four chains of additions.
  __device__ float exponentials(float m) {
    float sum[4] = {};
#pragma unroll
    for (int i = 0; i < VEC_ITEMS; ++i) {
      float scratch[kVector];
      float* const v = KEEP ? kept[KEEP ? i : 0] : scratch;
      unpack(vectors.v[i], v);
      add(v, m, sum);
    }
#pragma unroll
    for (int i = 0; i < SHARED_ITEMS; ++i) {
      float v[kVector];
      unpack(shared(i), v);
      add(v, m, sum);
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }

  // The softmax. part_m is what exponentials() was given; m and sum are of the row.
  __device__ void store(const Row& row, int first, float part_m, float m, float sum) {
    const float scale = reciprocal(sum);
    const float kept_scale = rescaled_reciprocal(part_m, m, sum);
#pragma unroll
    for (int i = 0; i < VEC_ITEMS; ++i) {
      float scratch[kVector];
      float* const v = KEEP ? kept[KEEP ? i : 0] : scratch;
      if (!KEEP) unpack(vectors.v[i], v);
#pragma unroll
      for (int k = 0; k < kVector; ++k) v[k] = KEEP ? v[k] * kept_scale : exponential(v[k] - m) * scale;
      vectors.v[i] = pack(v);
    }
    vectors.store(row, first);
#pragma unroll 1
    for (int i = 0; i < SHARED_ITEMS; ++i) {
      float v[kVector];
      unpack(shared(i), v);
#pragma unroll
      for (int k = 0; k < kVector; ++k) v[k] = exponential(v[k] - m) * scale;
      row.store((first + kShared + i * THREADS) * kVector, pack(v));
    }
  }

 private:
  __device__ static void add(float* v, float m, float (&sum)[4]) {
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      v[k] = exponential(v[k] - m);
      sum[k % 4] += v[k];
    }
  }
};
