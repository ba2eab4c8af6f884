// planted_unguarded_float4: v6_double that takes every row for 16-byte aligned: a misaligned address at N = 257, right
// where N is a multiple of 4. One block per row; grid.x = M.
#include "common/base.cuh"
#include "common/online.cuh"
#include "common/output.cuh"
#include "common/scan.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    planted_unguarded_float4(const float* x, float* y, long long M, long long N) {
  __shared__ SharedStates shared;
  const float* in = row_start(x, blockIdx.x, N);
  float* out = row_start(y, blockIdx.x, N);
  const unsigned n = static_cast<unsigned>(N);

  State s;
  scan_groups<THREADS, VEC_ITEMS>(threadIdx.x, n / 4, [&](unsigned k) { update_vector(s, load_group<true>(in, k)); });
  scan_tail(threadIdx.x, n, [&](unsigned i) { update_shared_exp(s, in[i]); });
  s = block_merge(s, shared);
  const float scale = 1.0f / s.d;
  scan_groups<THREADS, VEC_ITEMS>(threadIdx.x, n / 4, [&](unsigned k) {
    store_group<true>(out, k, normalize(load_group<true>(in, k), s.m, scale));
  });
  scan_tail(threadIdx.x, n, [&](unsigned i) { out[i] = expf(in[i] - s.m) * scale; });
}
