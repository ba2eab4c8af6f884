// planted_hang: never ends at N = 257, as a loop whose counter wraps would; v5 elsewhere. One block per row; grid.x =
// M. The loop gives up after ten minutes, so that an owner that forgets it does not lose the GPU.
#include "common/base.cuh"
#include "common/online.cuh"
#include "common/scan.cuh"

__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

extern "C" __global__ void __launch_bounds__(THREADS) planted_hang(const float* x, float* y, long long M, long long N) {
  __shared__ SharedStates shared;
  const float* in = row_start(x, blockIdx.x, N);
  float* out = row_start(y, blockIdx.x, N);
  const unsigned n = static_cast<unsigned>(N);
  if (n == 257) {
    const unsigned long long start = nanoseconds();
    while (nanoseconds() - start < 600ull * 1000 * 1000 * 1000) {
    }
  }

  State s;
  scan_elements<THREADS>(threadIdx.x, n, [&](unsigned i) { update_shared_exp(s, in[i]); });
  s = block_merge(s, shared);
  const float scale = 1.0f / s.d;
  scan_elements<THREADS>(threadIdx.x, n, [&](unsigned i) { out[i] = expf(in[i] - s.m) * scale; });
}
