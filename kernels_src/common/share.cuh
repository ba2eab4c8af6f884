// A thread's share of a row in registers. Threads take turns at the row's vectors: of STRIDE threads, number `first`
// has vectors first, first + STRIDE, ..., VEC_ITEMS of them. Each element costs one exponential: what the sum adds is
// kept for the output.
#pragma once

#include "common/exponential.cuh"
#include "common/row.cuh"

// The share as it is loaded. A recursion: the offset of an access must be a constant where it is written.
template <int STRIDE, int ITEM = 0>
__device__ inline void fetch(uint4 (&share)[VEC_ITEMS], const Row& row, int first) {
  if constexpr (ITEM < VEC_ITEMS) {
    share[ITEM] = row.fetch<ITEM * STRIDE * kVector>(first * kVector);
    fetch<STRIDE, ITEM + 1>(share, row, first);
  }
}

template <int STRIDE>
struct Share {
  float v[VEC_ITEMS][kVector];

  // Its maximum; -inf where the share holds nothing else.
  __device__ float open(const uint4 (&fetched)[VEC_ITEMS], const Row& row, int first) {
    float m = minus_infinity();
#pragma unroll
    for (int i = 0; i < VEC_ITEMS; ++i) {
      row.open((first + i * STRIDE) * kVector, fetched[i], v[i]);
#pragma unroll
      for (int k = 0; k < kVector; ++k) m = fmaxf(m, v[i][k]);
    }
    return m;
  }

  // Replaces elements by exponential(element - m). The sum of these, by four chains of additions, so that none is
  // longer than the accuracy rule allows and none waits long for itself.
  __device__ float exponentials(float m) {
    float sum[4] = {};
#pragma unroll
    for (int i = 0; i < VEC_ITEMS; ++i) {
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        v[i][k] = exponential(v[i][k] - m);
        sum[k % 4] += v[i][k];
      }
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }

  template <int ITEM = 0>
  __device__ void store(const Row& row, int first, float scale) {
    if constexpr (ITEM < VEC_ITEMS) {
#pragma unroll
      for (int k = 0; k < kVector; ++k) v[ITEM][k] *= scale;
      row.store<ITEM * STRIDE * kVector>(first * kVector, pack(v[ITEM]));
      store<ITEM + 1>(row, first, scale);
    }
  }
};
