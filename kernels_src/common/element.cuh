// Element types f32, f16 and bf16, of which the macro TYPE names the one of x and y. Storage is how an element lies in
// memory; everything is computed in FP32. A vector is 16 bytes, the most that one access moves. NVRTC has no header of
// 16-bit types here, so conversions are PTX, and integer arithmetic where an architecture has none.
#pragma once

#include "common/base.cuh"

#ifndef TYPE
#define TYPE f32
#endif

// unpack and pack: a 32-bit word, whose lowest bits are its first element, from and to floats. bits and from_bits: an
// element as the lowest bits of a word.
//
// kMinusInfinity: a word of -inf. max_words: the larger elements of two words, NaN dropped. kLift: exponential.cuh.
struct f32 {
  using Storage = float;
  static constexpr unsigned kMinusInfinity = 0xff800000u;
  static constexpr int kLift = 0;
  __device__ static float load(float v) { return v; }
  __device__ static float store(float v) { return v; }
  __device__ static void unpack(unsigned word, float* to) { to[0] = __uint_as_float(word); }
  __device__ static unsigned pack(const float* from) { return __float_as_uint(from[0]); }
  __device__ static unsigned bits(float v) { return __float_as_uint(v); }
  __device__ static float from_bits(unsigned word) { return __uint_as_float(word); }
  __device__ static unsigned max_words(unsigned a, unsigned b) {
    return __float_as_uint(fmaxf(__uint_as_float(a), __uint_as_float(b)));
  }
};

// An element of 16 bits, of any format.
struct Half {
  using Storage = unsigned short;
  __device__ static unsigned bits(unsigned short v) { return v; }
  __device__ static unsigned short from_bits(unsigned word) { return static_cast<unsigned short>(word); }
};

struct f16 : Half {
  static constexpr unsigned kMinusInfinity = 0xfc00fc00u;
  static constexpr int kLift = 0;

  __device__ static float load(unsigned short v) {
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(v));
    return r;
  }

  __device__ static unsigned short store(float v) {
    unsigned short r;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(v));
    return r;
  }

  __device__ static void unpack(unsigned word, float* to) {
    to[0] = load(static_cast<unsigned short>(word));
    to[1] = load(static_cast<unsigned short>(word >> 16));
  }

  __device__ static unsigned max_words(unsigned a, unsigned b) {
#if __CUDA_ARCH__ >= 800
    unsigned r;
    asm("max.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
#else
    float u[2], v[2];
    unpack(a, u);
    unpack(b, v);
    u[0] = fmaxf(u[0], v[0]);
    u[1] = fmaxf(u[1], v[1]);
    return pack(u);
#endif
  }

  __device__ static unsigned pack(const float* from) {
#if __CUDA_ARCH__ >= 800
    unsigned r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(from[1]), "f"(from[0]));
    return r;
#else
    return store(from[0]) | static_cast<unsigned>(store(from[1])) << 16;
#endif
  }
};

// The upper half of an FP32 number.
struct bf16 : Half {
  static constexpr unsigned kMinusInfinity = 0xff80ff80u;
  static constexpr int kLift = 8;

  __device__ static float load(unsigned short v) { return __uint_as_float(static_cast<unsigned>(v) << 16); }

  // To the nearest, ties to even. The rounding carries into the exponent, and at the largest into infinity, as it must.
  __device__ static unsigned short store(float v) {
#if __CUDA_ARCH__ >= 800
    unsigned short r;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(v));
    return r;
#else
    const unsigned bits = __float_as_uint(v);
    const unsigned rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return static_cast<unsigned short>(v == v ? rounded : 0x7fffu);
#endif
  }

  __device__ static void unpack(unsigned word, float* to) {
    to[0] = __uint_as_float(word << 16);
    to[1] = __uint_as_float(word & 0xffff0000u);
  }

  __device__ static unsigned max_words(unsigned a, unsigned b) {
#if __CUDA_ARCH__ >= 800
    unsigned r;
    asm("max.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
#else
    float u[2], v[2];
    unpack(a, u);
    unpack(b, v);
    u[0] = fmaxf(u[0], v[0]);
    u[1] = fmaxf(u[1], v[1]);
    return pack(u);
#endif
  }

  __device__ static unsigned pack(const float* from) {
#if __CUDA_ARCH__ >= 800
    unsigned r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(from[1]), "f"(from[0]));
    return r;
#else
    return store(from[0]) | static_cast<unsigned>(store(from[1])) << 16;
#endif
  }
};

using Type = TYPE;
using Storage = Type::Storage;
constexpr int kElementBytes = sizeof(Storage);
constexpr int kVector = 16 / kElementBytes;  // elements of a vector
constexpr int kPerWord = 4 / kElementBytes;  // elements of a 32-bit word

__device__ inline void unpack(const uint4& vector, float* to) {
  Type::unpack(vector.x, to);
  Type::unpack(vector.y, to + kPerWord);
  Type::unpack(vector.z, to + 2 * kPerWord);
  Type::unpack(vector.w, to + 3 * kPerWord);
}

__device__ inline uint4 pack(const float* from) {
  return make_uint4(Type::pack(from), Type::pack(from + kPerWord), Type::pack(from + 2 * kPerWord),
                    Type::pack(from + 3 * kPerWord));
}

__device__ inline float minus_infinity() {
  return __int_as_float(0xff800000);
}

// Elements by which p lies past a multiple of so many vectors.
__device__ inline int skew_of(const Storage* p, unsigned vectors = 1) {
  return static_cast<int>(reinterpret_cast<unsigned long long>(p) % (16 * vectors)) / kElementBytes;
}

// Whether all rows of x and of y are of whole vectors.
__device__ inline bool rows_are_aligned(const Storage* x, const Storage* y, long long N) {
  return skew_of(x) == 0 && skew_of(y) == 0 && N % kVector == 0;
}
