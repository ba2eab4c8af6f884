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

// The state of a block from those of its threads: each warp leaves its own, and after a barrier a warp merges them all.
__device__ inline void leave_state(float2* warps, float2 own) {
  own = warp_merge(own);
  if (lane_id() == 0) warps[warp_id()] = own;
}
__device__ inline float2 state_of_block(const float2* warps) {
  return warp_merge(lane_id() < kWarps ? warps[lane_id()] : no_elements());
}
