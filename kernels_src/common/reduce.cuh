// Reductions of one value per thread by shuffles, over a warp and over the block.
#pragma once

#include "common/base.cuh"

struct MaxOp {
  static constexpr float kIdentity = -kFloatMax;
  __device__ static float apply(float a, float b) { return fmaxf(a, b); }
};

struct SumOp {
  static constexpr float kIdentity = 0.0f;
  __device__ static float apply(float a, float b) { return a + b; }
};

// The result is valid in lane 0.
template <typename Op>
__device__ inline float warp_reduce(float value) {
#pragma unroll
  for (unsigned offset = kWarp / 2; offset > 0; offset /= 2) {
    value = Op::apply(value, __shfl_down_sync(kFullMask, value, offset));
  }
  return value;
}

// The result is valid in every thread. `shared` holds kWarp floats; it may be reused after the next barrier.
template <typename Op>
__device__ inline float block_reduce(float value, float* shared) {
  value = warp_reduce<Op>(value);
  if (lane_id() == 0) shared[warp_id()] = value;
  __syncthreads();
  if (warp_id() == 0) {
    value = warp_reduce<Op>(lane_id() < kWarps ? shared[lane_id()] : Op::kIdentity);
    if (lane_id() == 0) shared[0] = value;
  }
  __syncthreads();
  return shared[0];
}
