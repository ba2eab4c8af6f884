// Maximum and sum (m, d) of a set of elements: d is the sum of exponential(element - m). (-inf, 0) of none.
#pragma once

#include "common/exponential.cuh"
#include "common/group.cuh"

__device__ inline float2 no_elements() {
  return make_float2(minus_infinity(), 0.0f);
}

// A finite maximum to take exponentials against, which for elements of -inf alone are then 0.
__device__ inline float finite(float m) {
  return fmaxf(m, -kFloatMax);
}

// Of two states with finite maxima.
__device__ inline float2 merge(float2 a, float2 b) {
  const float m = fmaxf(a.x, b.x);
  return make_float2(m, a.y * rescale_factor(a.x - m) + b.y * rescale_factor(b.x - m));
}

// The states of the lanes merged, in each of them. Those of elements have finite maxima, or +inf.
__device__ inline float2 warp_merge(float2 state) {
  const float m = group_max<kWidth>(state.x);
  return make_float2(m, group_sum<kWidth>(state.y * rescale_factor(state.x - m)));
}
