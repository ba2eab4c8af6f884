// planted_local_array: v3 whose loops are not unrolled, so that the private array is indexed at run time and lies in
// local memory: right, and slow, with 0 spills reported. One block per row; N <= ITEMS * THREADS; grid.x = M.
#include "common/base.cuh"
#include "common/reduce.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    planted_local_array(const float* x, float* y, long long M, long long N) {
  __shared__ float maxima[kWarp];
  __shared__ float sums[kWarp];
  const float* in = row_start(x, blockIdx.x, N);
  float* out = row_start(y, blockIdx.x, N);
  const unsigned n = static_cast<unsigned>(N);

  float item[ITEMS];
  unsigned count = 0;
  for (unsigned k = threadIdx.x; k < n; k += THREADS) item[count++] = in[k];
  float m = -kFloatMax;
  for (unsigned i = 0; i < count; ++i) m = fmaxf(m, item[i]);
  m = block_reduce<MaxOp>(m, maxima);
  float d = 0.0f;
  for (unsigned i = 0; i < count; ++i) {
    item[i] = expf(item[i] - m);
    d += item[i];
  }
  d = block_reduce<SumOp>(d, sums);
  const float scale = 1.0f / d;
  for (unsigned i = 0; i < count; ++i) out[threadIdx.x + i * THREADS] = item[i] * scale;
}
