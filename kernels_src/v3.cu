// v3: the row in registers.
// One block per row; one scalar scan: each thread keeps ITEMS inputs (element tid + i * THREADS) and overwrites them by
// their exponentials. Reads 1 and writes 1 float per element. N <= ITEMS * THREADS; grid.x = M. The array is registers
// only while every index is a compile-time constant: loops are unrolled in full.
#include "common/base.cuh"
#include "common/reduce.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) v3(const float* x, float* y, long long M, long long N) {
  __shared__ float maxima[kWarp];
  __shared__ float sums[kWarp];
  const float* in = row_start(x, blockIdx.x, N);
  float* out = row_start(y, blockIdx.x, N);
  const unsigned n = static_cast<unsigned>(N);

  float item[ITEMS];
  float m = -kFloatMax;
#pragma unroll
  for (unsigned i = 0; i < ITEMS; ++i) {
    const unsigned k = threadIdx.x + i * THREADS;
    item[i] = k < n ? in[k] : -kFloatMax;
  }
#pragma unroll
  for (unsigned i = 0; i < ITEMS; ++i) m = fmaxf(m, item[i]);
  m = block_reduce<MaxOp>(m, maxima);

  // Four chains: a serial FP32 sum of ITEMS terms would lose accuracy, and wait for each addition.
  float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
  for (unsigned i = 0; i < ITEMS; ++i) {
    const unsigned k = threadIdx.x + i * THREADS;
    item[i] = k < n ? expf(item[i] - m) : 0.0f;
    part[i % 4] += item[i];
  }
  const float d = block_reduce<SumOp>((part[0] + part[1]) + (part[2] + part[3]), sums);

  const float scale = 1.0f / d;
#pragma unroll
  for (unsigned i = 0; i < ITEMS; ++i) {
    const unsigned k = threadIdx.x + i * THREADS;
    if (k < n) out[k] = item[i] * scale;
  }
}
