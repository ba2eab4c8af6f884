// The exponential of an element's distance from its row's maximum, by one special-function instruction.
#pragma once

#include "common/element.cuh"

constexpr float kLog2E = 1.442695041f;

__device__ inline float exp2_approx(float v) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}

// exp(difference) * 2^kLift, for a difference that is not positive. Not fma(x, log2 e, -m * log2 e), which loses
// accuracy with an offset of the row.
//
// ex2.approx.ftz gives zero below 2^-126. For f32 that is below what its rule of accuracy sees. bf16 has results down
// to 2^-133, and a row of one large element has them: 16-bit types take 2^64 times the exponential, which stays above
// 2^-126 down to exp(-131). The sum of the row is then 2^64 times the sum as well, and the factor cancels in the
// quotient, a product by 1 / sum that keeps subnormal results. The largest sum, 2^64 times a row of 2^31 elements, is
// far from overflow. The addition costs nothing: it makes the product a fused one. Its rounding, at 64, is 2^-18 of the
// result at most; 16-bit results have 2^-12.
constexpr float kLift = kElementBytes == 2 ? 64.0f : 0.0f;

__device__ inline float exponential(float difference) {
  if (kElementBytes == 4) return exp2_approx(difference * kLog2E);
  return exp2_approx(fmaf(difference, kLog2E, kLift));
}

// exp(difference) itself: the factor between two maxima of one row.
__device__ inline float rescale_factor(float difference) {
  return exp2_approx(difference * kLog2E);
}

// As exponential(); for f32 to two units in the last place, for sums of so many terms that their common error matters.
__device__ inline float accurate_exponential(float difference) {
  return kElementBytes == 4 ? expf(difference) : exponential(difference);
}
