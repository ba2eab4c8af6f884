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

  // Its exponentials times `scale`, as they are stored.
  __device__ void pack(float scale, uint4 (&to)[VEC_ITEMS]) {
#pragma unroll
    for (int i = 0; i < VEC_ITEMS; ++i) {
#pragma unroll
      for (int k = 0; k < kVector; ++k) v[i][k] *= scale;
      to[i] = ::pack(v[i]);
    }
  }
};

template <int STRIDE, int ITEM = 0>
__device__ inline void store_whole(const uint4 (&share)[VEC_ITEMS], const Row& row, int first) {
  if constexpr (ITEM < VEC_ITEMS) {
    constexpr int kOffset = ITEM * STRIDE * kVector;
    if (row.same_skew && row.whole(first * kVector + kOffset))
      store_vector<kOffset>(row.y + first * kVector, share[ITEM], row.streamed);
    store_whole<STRIDE, ITEM + 1>(share, row, first);
  }
}

// What the row has of a vector that lane `owner` of each group of WIDTH lanes holds, by as many neighbouring lanes as
// it has elements: one store where the owner alone would need one for each. The vector begins at position `at`. By
// whole warps.
template <int WIDTH>
__device__ inline void store_by_lanes(const Row& row, int at, const uint4& vector, int owner) {
  static_assert(WIDTH >= kVector);
  const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
  const int k = static_cast<int>(lane_id()) % WIDTH;
  unsigned word = 0;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const unsigned of_owner = __shfl_sync(kFullMask, words[j], owner, WIDTH);
    if (k / kPerWord == j) word = of_owner;
  }
  if (k < kVector && row.holds(at + k)) row.y[at + k] = Type::from_bits(word >> k % kPerWord * 8 * kElementBytes);
}

// What store_whole() leaves: vectors at a row's ends, or all of a row that lies in y otherwise than in x. By whole
// warps.
template <int STRIDE>
__device__ inline void store_others(const uint4 (&share)[VEC_ITEMS], const Row& row, int first) {
  constexpr bool by_lanes = STRIDE >= kVector;
  if (!by_lanes || !row.same_skew) {
#pragma unroll 1
    for (int i = 0; i < VEC_ITEMS; ++i) {
      const int at = (first + i * STRIDE) * kVector;
      if (at < row.end && !(row.same_skew && row.whole(at))) row.store_own(at, item_of(share, i));
    }
  }
  if constexpr (by_lanes) {
    // A row without such a vector has nothing at its end.
    const bool begins_inside = row.same_skew && row.skew > 0;
    const bool ends_inside = row.same_skew && row.end % kVector != 0 && (row.end > kVector || !begins_inside);
    store_by_lanes<STRIDE>(row, begins_inside ? 0 : row.end, share[0], 0);
    const int last = row.end / kVector;
    store_by_lanes<STRIDE>(row, ends_inside ? last * kVector : row.end, item_of(share, last / STRIDE), last % STRIDE);
  }
}
