// The online softmax state of a part of a row: the maximum m so far, and d, the sum of exp(x - m) so far.
// (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018.)
#pragma once

#include "common/base.cuh"

// The empty state starts at -FLT_MAX, not at -inf: (-inf) - (-inf) is NaN, and would strike when two empty states merge
// or when the first element is -inf.
struct State {
  float m = -kFloatMax;
  float d = 0.0f;
};

// Two exponentials per element.
__device__ inline void update_two_exp(State& s, float c) {
  const float m = fmaxf(s.m, c);
  s.d = s.d * expf(s.m - m) + expf(c - m);
  s.m = m;
}

// One of those two exponentials is always exp(0): the two share one. c > m: d = d * e + 1, m = c; else d = d + e.
// Selecting the operands, not the results, keeps it free of branches wherever it is inlined: an if, or a conditional
// expression with the two results, becomes a branch inside a guarded tail.
__device__ inline void update_shared_exp(State& s, float c) {
  const float e = expf(-fabsf(c - s.m));
  const bool larger = c > s.m;
  const float factor = larger ? e : 1.0f;
  const float term = larger ? 1.0f : e;
  s.d = s.d * factor + term;
  s.m = larger ? c : s.m;
}

// Four elements: one maximum, one rescale, four exponentials.
__device__ inline void update_vector(State& s, float4 v) {
  const float m = fmaxf(fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)), s.m);
  const float sum = (expf(v.x - m) + expf(v.y - m)) + (expf(v.z - m) + expf(v.w - m));
  s.d = s.d * expf(s.m - m) + sum;
  s.m = m;
}

__device__ inline State merge(State a, State b) {
  State r;
  r.m = fmaxf(a.m, b.m);
  r.d = a.d * expf(a.m - r.m) + b.d * expf(b.m - r.m);
  return r;
}

// Valid in lane 0.
__device__ inline State warp_merge(State s) {
#pragma unroll
  for (unsigned offset = kWarp / 2; offset > 0; offset /= 2) {
    State other;
    other.m = __shfl_down_sync(kFullMask, s.m, offset);
    other.d = __shfl_down_sync(kFullMask, s.d, offset);
    s = merge(s, other);
  }
  return s;
}

// A row with +inf ends with m = inf and may end with a finite d, but its softmax is NaN: inf - inf makes it so. For a
// finite maximum this adds zero.
__device__ inline State finish(State s) {
  s.d += s.m - s.m;
  return s;
}

struct SharedStates {
  float m[kWarp];
  float d[kWarp];
};

// The finished state of the whole row, valid in every thread. The first warp merges the warps' states with a full tree,
// its idle lanes holding the empty state. `shared` may be reused after the next barrier.
__device__ inline State block_merge(State s, SharedStates& shared) {
  s = warp_merge(s);
  if (lane_id() == 0) {
    shared.m[warp_id()] = s.m;
    shared.d[warp_id()] = s.d;
  }
  __syncthreads();
  if (warp_id() == 0) {
    s = State();
    if (lane_id() < kWarps) {
      s.m = shared.m[lane_id()];
      s.d = shared.d[lane_id()];
    }
    s = finish(warp_merge(s));
    if (lane_id() == 0) {
      shared.m[0] = s.m;
      shared.d[0] = s.d;
    }
  }
  __syncthreads();
  s.m = shared.m[0];
  s.d = shared.d[0];
  return s;
}

// The finished state, broadcast from lane 0 to the warp by two shuffles.
__device__ inline State warp_merge_broadcast(State s) {
  s = finish(warp_merge(s));
  s.m = __shfl_sync(kFullMask, s.m, 0);
  s.d = __shfl_sync(kFullMask, s.d, 0);
  return s;
}
