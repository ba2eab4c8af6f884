// Exponentials in the place of the elements that they are of, so that each element costs one and a row takes no more
// registers or shared memory than when it was loaded.
//
// f32: as they are. A 16-bit type keeps each in 16 bits as well, with one bit of mantissa more than the type has: an
// exponential is not negative, and of f16 no exponent outside [-31, 0] matters. Rounded there to the nearest and as a
// result once more, no result is further than one unit in the last place from the one that is rounded once: half a unit
// here, since the kept one may lie in the lower half of its power of two and the result in the upper half of its own.
#pragma once

#include "common/exponential.cuh"

// Upper bits of an exponential in FP32 that need not be kept: the sign of bf16; of f16 also 011, with which the
// exponents [-31, 0] begin. kKept: the rest, where Kept::open() gives them. They are a float that is 2^-kBias times the
// exponential, and zero where it is 2^-31.
template <typename T>
struct Kept {
  static constexpr int kDropped = 1;
  static constexpr float kUnbias = 1;
};
template <>
struct Kept<f16> {
  static constexpr int kDropped = 4;
  static constexpr float kUnbias = 79228162514264337593543950336.0f;  // 2^96
};

constexpr float kLeastKept = 4.656612873e-10f;  // 2^-31 of f16, which stands for all below

// What an opened exponential is multiplied by, beside the factor of the row.
constexpr float kUnbias = Kept<Type>::kUnbias;

__device__ inline unsigned kept_bits(float exponential) {
  constexpr bool bounded = Kept<Type>::kDropped > 1;
  const float v = bounded ? fmaxf(exponential, kLeastKept) : exponential;
  return (__float_as_uint(v) << Kept<Type>::kDropped) + 0x8000u;
}

__device__ inline unsigned keep_word(const float* exponentials) {
  if constexpr (kPerWord == 1) return __float_as_uint(exponentials[0]);
  return __byte_perm(kept_bits(exponentials[0]), kept_bits(exponentials[kPerWord - 1]), 0x7632);
}

__device__ inline void open_word(unsigned word, float* to) {
  if constexpr (kPerWord == 1) {
    to[0] = __uint_as_float(word);
  } else {
    constexpr int dropped = Kept<Type>::kDropped;
    constexpr unsigned mask = 0xffff0000u >> dropped;
    to[0] = __uint_as_float(word << (16 - dropped) & mask);
    to[kPerWord - 1] = __uint_as_float(word >> dropped & mask);
  }
}

__device__ inline uint4 keep(const float* exponentials) {
  return make_uint4(keep_word(exponentials), keep_word(exponentials + kPerWord), keep_word(exponentials + 2 * kPerWord),
                    keep_word(exponentials + 3 * kPerWord));
}

// The elements of a vector that keep() gave, times `scale`, which has the factor kUnbias.
__device__ inline uint4 scaled(const uint4& kept, float scale) {
  float v[kVector];
  open_word(kept.x, v);
  open_word(kept.y, v + kPerWord);
  open_word(kept.z, v + 2 * kPerWord);
  open_word(kept.w, v + 3 * kPerWord);
#pragma unroll
  for (int k = 0; k < kVector; ++k) v[k] *= scale;
  return pack(v);
}

// The exponentials of a vector's elements in their place, and their sum.
__device__ inline float take_exponentials(uint4& vector, float m) {
  float v[kVector];
  unpack(vector, v);
#pragma unroll
  for (int k = 0; k < kVector; ++k) v[k] = exponential(v[k] - m);
  vector = keep(v);
  float sum[2] = {v[0], v[1]};
#pragma unroll
  for (int k = 2; k < kVector; ++k) sum[k % 2] += v[k];
  return sum[0] + sum[1];
}
