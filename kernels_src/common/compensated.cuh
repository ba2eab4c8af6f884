// The online state for rows of any length: the serial FP32 sum of a thread may have millions of terms, so it carries
// the rounding error of each addition along (Knuth's TwoSum), and is rescaled rarely.
#pragma once

#include "common/exponential.cuh"
#include "common/online.cuh"

struct CompensatedState {
  // A reference within kSlack of the maximum so far. Rescaling only when a value passes it by kSlack keeps the number
  // of rescales, each of which rounds, small: a slowly ascending row would otherwise rescale at every step. exp(kSlack)
  // times the longest row is far from overflow.
  float m = -kFloatMax;
  float d = 0.0f;
  float error = 0.0f;
  static constexpr float kSlack = 8.0f;

  __device__ void raise(float v) {
    if (v > m + kSlack) {
      const float e = expf(m - v);
      d *= e;
      error *= e;
      m = v;
    }
  }

  __device__ void add(float term) {
    const float sum = d + term;
    const float virtual_term = sum - d;
    error += (d - (sum - virtual_term)) + (term - virtual_term);
    d = sum;
  }

  __device__ void update(float v) {
    raise(v);
    add(accurate_exponential(v - m));
  }

  template <unsigned COUNT>
  __device__ void update(const uint4 (&raw)[COUNT]) {
    float v[COUNT][kVector];
    float largest = -kFloatMax;
#pragma unroll
    for (unsigned i = 0; i < COUNT; ++i) {
      unpack(raw[i], v[i]);
#pragma unroll
      for (int k = 0; k < kVector; ++k) largest = fmaxf(largest, v[i][k]);
    }
    raise(largest);
    float sum = 0.0f;
#pragma unroll
    for (unsigned i = 0; i < COUNT; ++i) {
#pragma unroll
      for (int k = 0; k < kVector; k += 4) {
        sum += (accurate_exponential(v[i][k] - m) + accurate_exponential(v[i][k + 1] - m)) +
               (accurate_exponential(v[i][k + 2] - m) + accurate_exponential(v[i][k + 3] - m));
      }
    }
    add(sum);
  }

  __device__ State state() const {
    State s;
    s.m = m;
    s.d = d + error;
    return s;
  }
};
