// Reductions over WIDTH neighbouring lanes, a power of two up to a warp, valid in each of them.
#pragma once

#include "common/reduce.cuh"

template <typename Op, int WIDTH>
__device__ inline float group_reduce(float value) {
#pragma unroll
  for (int distance = WIDTH / 2; distance > 0; distance /= 2) {
    value = Op::apply(value, __shfl_xor_sync(kFullMask, value, distance));
  }
  return value;
}

template <int WIDTH>
__device__ inline float group_max(float value) {
  return group_reduce<MaxOp, WIDTH>(value);
}

template <int WIDTH>
__device__ inline float group_sum(float value) {
  return group_reduce<SumOp, WIDTH>(value);
}
