// The exponential of an element's distance from its row's maximum, by one special-function instruction.
#pragma once

#include "common/element.cuh"

constexpr float kLog2E = 1.442695041f;

__device__ inline float exp2_approx(float v) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}

// exp(difference) * 2^Type::kLift, for a difference that is not positive. Not fma(x, log2 e, -m * log2 e), which loses
// accuracy with an offset of the row.
//
// ex2.approx.ftz gives zero below 2^-126. For f32 that is below what the accuracy rule sees, and below all that f16
// has. bf16 has results down to 2^-133, and in a row of few large elements they occur: it takes 2^8 times the
// exponential, which is above 2^-126 wherever the result is above 2^-134, the half of bf16's smallest. The sum of a row
// has the factor too, and it cancels in the product by 1 / sum. That product, unlike the exponential, keeps subnormal
// results. Where it is by a second exponential as well, of a part's maximum over the row's (rescaled_reciprocal), the
// factor is subnormal where the result is, with an error of 2^-150 at most, which 2^8 times an exponential makes
// 2^-142. A larger factor would leave it fewer bits; a smaller one would lose results. The addition is free: it makes
// the product a fused one.
constexpr float kLiftInverse = 1.0f / (1 << Type::kLift);

__device__ inline float exponential(float difference) {
  if (Type::kLift == 0) return exp2_approx(difference * kLog2E);
  return exp2_approx(fmaf(difference, kLog2E, Type::kLift));
}

// exp(difference) itself: between two maxima, for sums, where what is below 2^-126 of the largest term does not matter.
__device__ inline float rescale_factor(float difference) {
  return exp2_approx(difference * kLog2E);
}

// 1 / v within one unit in the last place.
__device__ inline float reciprocal(float v) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}

// The factor that makes exponential(x - part_m) the softmax of x, where sum is that of exponential(x - m) over the row.
__device__ inline float rescaled_reciprocal(float part_m, float m, float sum) {
  return exponential(part_m - m) * (kLiftInverse * reciprocal(sum));
}

// As exponential(); for f32 to two units in the last place, for sums of so many terms that their common error matters.
__device__ inline float accurate_exponential(float difference) {
  return kElementBytes == 4 ? expf(difference) : exponential(difference);
}
