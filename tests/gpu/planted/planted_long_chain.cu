// planted_long_chain: v8, said to be accurate for rows of any length: a lane's serial FP32 sum drifts from some 2000
// elements on. One row per warp; grid.x = ceil(M / (THREADS / 32)).
#include "common/base.cuh"
#include "common/online.cuh"
#include "common/scan.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    planted_long_chain(const float* x, float* y, long long M, long long N) {
  const long long row = static_cast<long long>(blockIdx.x) * kWarps + warp_id();
  if (row >= M) return;
  const float* in = row_start(x, row, N);
  float* out = row_start(y, row, N);
  const unsigned n = static_cast<unsigned>(N);

  State s;
  scan_elements<kWarp>(lane_id(), n, [&](unsigned i) { update_shared_exp(s, in[i]); });
  s = warp_merge_broadcast(s);
  const float scale = 1.0f / s.d;
  scan_elements<kWarp>(lane_id(), n, [&](unsigned i) { out[i] = expf(in[i] - s.m) * scale; });
}
