// A thread's whole share of a row in registers: VEC_ITEMS groups of four and at most one tail element. Used by the
// kernels that read their input once. The array is registers only while every index is a compile-time constant.
#pragma once

#include "common/online.cuh"
#include "common/output.cuh"
#include "common/scan.cuh"

// STRIDE threads share the row; `first` is the calling thread's number among them.
template <unsigned STRIDE>
struct CachedShare {
  float4 group[VEC_ITEMS];
  float tail;

  template <bool ALIGNED>
  __device__ void load(const float* in, unsigned first, unsigned n) {
#pragma unroll
    for (unsigned i = 0; i < VEC_ITEMS; ++i) {
      const unsigned k = first + i * STRIDE;
      if (k < n / 4) group[i] = load_group<ALIGNED>(in, k);
    }
    scan_tail(first, n, [&](unsigned i) { tail = in[i]; });
  }

  __device__ State state(unsigned first, unsigned n) const {
    State s;
#pragma unroll
    for (unsigned i = 0; i < VEC_ITEMS; ++i) {
      if (first + i * STRIDE < n / 4) update_vector(s, group[i]);
    }
    scan_tail(first, n, [&](unsigned) { update_shared_exp(s, tail); });
    return s;
  }

  template <bool ALIGNED>
  __device__ void store(float* out, unsigned first, unsigned n, State s) const {
    const float scale = 1.0f / s.d;
#pragma unroll
    for (unsigned i = 0; i < VEC_ITEMS; ++i) {
      const unsigned k = first + i * STRIDE;
      if (k < n / 4) store_group<ALIGNED>(out, k, normalize(group[i], s.m, scale));
    }
    scan_tail(first, n, [&](unsigned i) { out[i] = expf(tail - s.m) * scale; });
  }
};
