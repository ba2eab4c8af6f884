// COUNT vectors of a thread: number `first` of a slice, and those STRIDE after one another from there. A Reach says
// where they lie, or what has its members.
#pragma once

#include "common/slice.cuh"

__device__ inline uint4 all_minus_infinity() {
  return make_uint4(Type::kMinusInfinity, Type::kMinusInfinity, Type::kMinusInfinity, Type::kMinusInfinity);
}

// A vector to where it may not be aligned, by 32-bit words where these are, else by elements.
__device__ inline void store_elements(Storage* to, const uint4& vector) {
  const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
  const bool by_words = kPerWord == 1 || reinterpret_cast<unsigned long long>(to) % 4 == 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    Storage* const word = to + i * kPerWord;
    if (by_words) {
      *reinterpret_cast<unsigned*>(word) = words[i];
    } else {
#pragma unroll
      for (int k = 0; k < kPerWord; ++k) word[k] = Type::from_bits(words[i] >> k * 8 * kElementBytes);
    }
  }
}

template <int COUNT, int STRIDE = THREADS>
struct Vectors {
  static constexpr int kStride = STRIDE * kVector;  // from one to the next, in elements
  uint4 v[COUNT];

  // -inf in the place of what the slice does not have.
  template <int ITEM = 0, typename Loads>
  __device__ void load(const Loads& from) {
    if constexpr (ITEM < COUNT) {
      v[ITEM] = all_minus_infinity();
      if (from.template holds<ITEM>()) v[ITEM] = load_vector<ITEM * kStride>(from.p, from.kStreamed);
      load<ITEM + 1>(from);
    }
  }

  template <typename Stores>
  __device__ void store(const Stores& to) const {
    if (to.aligned()) {
      store_whole(to);
    } else {
      store_by_elements(to);
    }
  }

 private:
  template <int ITEM = 0, typename Stores>
  __device__ void store_whole(const Stores& to) const {
    if constexpr (ITEM < COUNT) {
      if (to.template holds<ITEM>()) store_vector<ITEM * kStride>(to.p, v[ITEM], to.kStreamed);
      store_whole<ITEM + 1>(to);
    }
  }

  // That code is there once: unrolled, its addresses would take the registers of the vectors.
  template <typename Stores>
  __device__ void store_by_elements(const Stores& to) const {
#pragma unroll 1
    for (int item = 0; item < COUNT; ++item) {
      if (to.holds(item)) store_elements(to.p + item * kStride, item_of(v, item));
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

template <int COUNT, int STRIDE>
__device__ inline float maximum(const Vectors<COUNT, STRIDE>& vectors) {
  unsigned word = vector_max(vectors.v[0]);
#pragma unroll
  for (int i = 1; i < COUNT; ++i) word = Type::max_words(word, vector_max(vectors.v[i]));
  return word_max(word);
}
