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

// Where a thread's vectors lie: numbers `first`, first + THREADS, ... of a row, OFFSET elements after the first of
// them.
//
// The compiler is kept from working these values out anew for each vector, which would cost it several instructions an
// element where a row leaves it few registers.
template <typename Pointer>
struct Reach {
  Pointer p;      // of the first vector
  int at;         // elements from the row's first to it
  unsigned span;  // a vector before it, from the row's first element on, is accessed as it is
  int length;     // of the row

  __device__ Reach(Pointer start, const Row& row, int first, unsigned span)
      : p(start + static_cast<long long>(first) * kVector),
        at(first * kVector - row.skew),
        span(span),
        length(row.end - row.skew) {
    asm volatile("" : "+l"(p), "+r"(at), "+r"(this->span), "+r"(length));
    __builtin_assume(__isGlobal(p));  // which it no longer sees
  }

  template <int OFFSET>
  __device__ bool whole() const {
    return whole(OFFSET);
  }
  template <int OFFSET>
  __device__ bool partly() const {
    return partly(OFFSET);
  }
  __device__ bool whole(int offset) const { return static_cast<unsigned>(at + offset) < span; }
  __device__ bool partly(int offset) const { return at + offset < length; }
  __device__ bool holds(int offset) const { return static_cast<unsigned>(at + offset) < static_cast<unsigned>(length); }
};

__device__ inline Reach<const Storage*> loads_of(const Row& row, int first) {
  return {row.x, row, first, row.load_span()};
}
__device__ inline Reach<Storage*> stores_of(const Row& row, int first) {
  return {row.y, row, first, row.store_span()};
}

// The vector at an offset by the row's elements, with -inf in the place of what is not of the row.
__device__ inline uint4 load_elements(const Reach<const Storage*>& from, int offset) {
  unsigned words[4] = {Type::kMinusInfinity, Type::kMinusInfinity, Type::kMinusInfinity, Type::kMinusInfinity};
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    const int shift = k % kPerWord * 8 * kElementBytes;
    unsigned& word = words[k / kPerWord];
    if (from.holds(offset + k)) word = (word & ~(kElementMask << shift)) | Type::bits(from.p[offset + k]) << shift;
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// The row's elements of a vector, by 32-bit words where these are aligned and have no neighbour's element.
__device__ inline void store_elements(const Reach<Storage*>& to, int offset, const uint4& vector) {
  const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
  const bool by_words = kPerWord == 1 || reinterpret_cast<unsigned long long>(to.p) % 4 == 0;
#pragma unroll
  for (int k = 0; k < kVector; k += kPerWord) {
    const unsigned word = words[k / kPerWord];
    if (by_words && to.holds(offset + k) && to.holds(offset + k + kPerWord - 1)) {
      *reinterpret_cast<unsigned*>(to.p + offset + k) = word;
    } else {
#pragma unroll
      for (int j = k; j < k + kPerWord; ++j) {
        if (to.holds(offset + j)) to.p[offset + j] = Type::from_bits(word >> j % kPerWord * 8 * kElementBytes);
      }
    }
  }
}

template <int COUNT>
struct Vectors {
  static constexpr int kStride = THREADS * kVector;  // from one to the next, in elements
  uint4 v[COUNT];

  // As item_of().
  __device__ void set(int item, const uint4& value) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      if (i == item) v[i] = value;
    }
  }

  // -inf in the place of what is not of the row.
  __device__ void load(const Reach<const Storage*>& from) {
    bool others = false;
    load_whole(from, others);
    if (others) load_others(from);
  }

  __device__ void store(const Reach<Storage*>& to) const {
    bool others = false;
    store_whole(to, others);
    if (others) store_others(to);
  }

  // others becomes true where there are some left.
  template <int ITEM = 0>
  __device__ void load_whole(const Reach<const Storage*>& from, bool& others) {
    if constexpr (ITEM < COUNT) {
      constexpr int kOffset = ITEM * kStride;
      v[ITEM] = all_minus_infinity();
      if (from.whole<kOffset>()) {
        v[ITEM] = load_vector<kOffset>(from.p);
      } else {
        others |= from.partly<kOffset>();
      }
      load_whole<ITEM + 1>(from, others);
    }
  }

  template <int ITEM = 0>
  __device__ void store_whole(const Reach<Storage*>& to, bool& others) const {
    if constexpr (ITEM < COUNT) {
      constexpr int kOffset = ITEM * kStride;
      if (to.whole<kOffset>()) {
        store_vector<kOffset>(to.p, v[ITEM]);
      } else {
        others |= to.partly<kOffset>();
      }
      store_whole<ITEM + 1>(to, others);
    }
  }

  __device__ void load_others(const Reach<const Storage*>& from) {
#pragma unroll 1
    for (int item = 0; item < COUNT; ++item) {
      const int offset = item * kStride;
      if (from.partly(offset) && !from.whole(offset)) set(item, load_elements(from, offset));
    }
  }

  __device__ void store_others(const Reach<Storage*>& to) const {
#pragma unroll 1
    for (int item = 0; item < COUNT; ++item) {
      const int offset = item * kStride;
      if (to.partly(offset) && !to.whole(offset)) store_elements(to, offset, item_of(v, item));
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
