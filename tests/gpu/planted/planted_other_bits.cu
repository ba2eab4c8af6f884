// planted_other_bits: right within the tolerance, but the last bit of each output follows the clock, as it follows the
// order of atomic additions in a kernel that sums by them. One block per row; grid.x = M.
#include "common/base.cuh"
#include "common/online.cuh"
#include "common/scan.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    planted_other_bits(const float* x, float* y, long long M, long long N) {
  __shared__ SharedStates shared;
  const float* in = row_start(x, blockIdx.x, N);
  float* out = row_start(y, blockIdx.x, N);
  const unsigned n = static_cast<unsigned>(N);

  State s;
  scan_elements<THREADS>(threadIdx.x, n, [&](unsigned i) { update_shared_exp(s, in[i]); });
  s = block_merge(s, shared);
  const float scale = 1.0f / s.d;
  unsigned now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now));
  // The low bits of the clock are alike from run to run; their sum with the higher ones is not.
  const unsigned last_bit = __popc(now) & 1;
  scan_elements<THREADS>(threadIdx.x, n, [&](unsigned i) {
    out[i] = __int_as_float(__float_as_int(expf(in[i] - s.m) * scale) ^ last_bit);
  });
}
