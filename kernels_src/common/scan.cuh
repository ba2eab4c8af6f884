// Scans of a row. A scan calls f for the elements (or groups of four) that belong to the calling thread, in ascending
// order. Loops run uniformly over the block with the lane guarded, so that a warp's accesses are never split: a scalar
// scan of a row is ceil(N / 32) warp loads.
#pragma once

#include "common/base.cuh"

// Elements first, first + STRIDE, ... below n. n is at most 2^31 - 1 and the index unsigned: index + STRIDE never
// wraps.
template <unsigned STRIDE, typename F>
__device__ inline void scan_elements(unsigned first, unsigned n, F f) {
  unsigned base = 0;
  for (; base + STRIDE <= n; base += STRIDE) f(base + first);
  if (base + first < n) f(base + first);
}

__device__ inline bool is_vector_aligned(const float* row) {
  return (reinterpret_cast<unsigned long long>(row) & 15) == 0;
}

// Group k is the elements 4k .. 4k+3: one 16-byte access in a row that is aligned to it, four scalar ones in any other
// (rows start at r * N elements, so with N = 257 only one row in four is aligned).
template <bool ALIGNED>
__device__ inline float4 load_group(const float* row, unsigned k) {
  if (ALIGNED) return reinterpret_cast<const float4*>(row)[k];
  const float* p = row + 4ull * k;
  return make_float4(p[0], p[1], p[2], p[3]);
}

template <bool ALIGNED>
__device__ inline void store_group(float* row, unsigned k, float4 v) {
  if (ALIGNED) {
    reinterpret_cast<float4*>(row)[k] = v;
  } else {
    float* p = row + 4ull * k;
    p[0] = v.x;
    p[1] = v.y;
    p[2] = v.z;
    p[3] = v.w;
  }
}

// At most ITEMS groups first, first + STRIDE, ... below groups.
template <unsigned STRIDE, unsigned ITEMS, typename F>
__device__ inline void scan_groups(unsigned first, unsigned groups, F f) {
#pragma unroll 4
  for (unsigned i = 0; i < ITEMS; ++i) {
    const unsigned k = first + i * STRIDE;
    if (k < groups) f(k);
  }
}

// The last N mod 4 elements: element j of them belongs to thread j.
template <typename F>
__device__ inline void scan_tail(unsigned first, unsigned n, F f) {
  const unsigned i = (n & ~3u) + first;
  if (i < n) f(i);
}
