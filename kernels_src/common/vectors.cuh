// COUNT vectors of a thread: number `first` of the row, and those THREADS after one another from there.
//
// Most are read and written as they are, in unrolled code. Those at the row's ends, or of a row that has no common
// alignment, go by elements: that code is there once, and takes each such vector in turn. In the unrolled code it would
// be there COUNT times, and its addresses would take the registers of the vectors.
#pragma once

#include "common/row.cuh"

constexpr unsigned kElementMask = kElementBytes == 4 ? 0xffffffffu : 0xffffu;

// The vector at a position with -inf in the place of what is not of the row.
__device__ inline uint4 own_elements(const Row& row, int at, const uint4& vector) {
  unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    const unsigned mask = kElementMask << k % kPerWord * 8 * kElementBytes;
    if (!row.holds(at + k)) words[k / kPerWord] = (words[k / kPerWord] & ~mask) | (Type::kMinusInfinity & mask);
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

__device__ inline uint4 all_minus_infinity() {
  return make_uint4(Type::kMinusInfinity, Type::kMinusInfinity, Type::kMinusInfinity, Type::kMinusInfinity);
}

template <int COUNT>
struct Vectors {
  static constexpr int kStride = THREADS * kVector;  // from one to the next, in elements
  uint4 v[COUNT];

  // By a number that is not known when compiled. An array in registers has no addresses.
  __device__ uint4 get(int item) const {
    uint4 r = v[0];
#pragma unroll
    for (int i = 1; i < COUNT; ++i) {
      if (i == item) r = v[i];
    }
    return r;
  }

  __device__ void set(int item, const uint4& value) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      if (i == item) v[i] = value;
    }
  }

  // -inf in the place of what is not of the row.
  __device__ void load(const Row& row, int first) {
    const int at = first * kVector;
    bool others = false;
    load_whole(row, at, others);
    if (!others) return;
#pragma unroll 1
    for (int item = 0; item < COUNT; ++item) {
      const int position = at + item * kStride;
      if (position < row.end && !(row.whole(position) && row.safe(position)))
        set(item, own_elements(row, position, row.fetch(position)));
    }
  }

  template <int ITEM = 0>
  __device__ void load_whole(const Row& row, int at, bool& others) {
    if constexpr (ITEM < COUNT) {
      const int position = at + ITEM * kStride;
      v[ITEM] = all_minus_infinity();
      if (row.whole(position) && row.safe(position)) {
        v[ITEM] = load_vector<ITEM * kStride>(row.x + at);
      } else {
        others |= position < row.end;
      }
      load_whole<ITEM + 1>(row, at, others);
    }
  }

  __device__ void store(const Row& row, int first) const {
    const int at = first * kVector;
    bool others = false;
    store_whole(row, at, others);
    if (!others) return;
#pragma unroll 1
    for (int item = 0; item < COUNT; ++item) {
      const int position = at + item * kStride;
      if (position < row.end && !(row.same_skew && row.whole(position))) row.store_own(position, get(item));
    }
  }

  template <int ITEM = 0>
  __device__ void store_whole(const Row& row, int at, bool& others) const {
    if constexpr (ITEM < COUNT) {
      const int position = at + ITEM * kStride;
      if (row.same_skew && row.whole(position)) {
        store_vector<ITEM * kStride>(row.y + at, v[ITEM]);
      } else {
        others |= position < row.end;
      }
      store_whole<ITEM + 1>(row, at, others);
    }
  }
};

// The largest element. A NaN is dropped, as by fmaxf.
__device__ inline unsigned vector_max(const uint4& v) {
  return Type::max_words(Type::max_words(v.x, v.y), Type::max_words(v.z, v.w));
}

__device__ inline float word_max(unsigned word) {
  float v[kPerWord];
  Type::unpack(word, v);
  float m = v[0];
#pragma unroll
  for (int k = 1; k < kPerWord; ++k) m = fmaxf(m, v[k]);
  return m;
}

template <int COUNT>
__device__ inline float maximum(const Vectors<COUNT>& vectors) {
  unsigned word = vector_max(vectors.v[0]);
#pragma unroll
  for (int i = 1; i < COUNT; ++i) word = Type::max_words(word, vector_max(vectors.v[i]));
  return word_max(word);
}
