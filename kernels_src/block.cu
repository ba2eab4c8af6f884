// block: one block per row, the row in registers, one barrier per row.
// One scan in 16-byte vectors, whatever the alignment of x and y. Each warp takes the exponentials against its own
// maximum; after the only barrier every warp merges all warps' maxima and sums for itself. With PREFETCH a block that
// walks over rows loads its next row before it waits at the barrier of the present one. Reads 1 and writes 1 element
// per element. Any M; N <= THREADS * VEC_ITEMS vectors, less what precedes the row in its first vector where rows are
// not aligned.
#include "common/group.cuh"
#include "common/launch.cuh"
#include "common/share.cuh"

constexpr int kWidth = static_cast<int>(kWarp);
constexpr int kCapacity = THREADS * VEC_ITEMS * kVector;

extern "C" __global__ void __launch_bounds__(THREADS) block(const Storage* x, Storage* y, long long M, long long N) {
  // A warp may be one row ahead of the slowest, which then still reads the other half.
  __shared__ float2 shared[2][kWarps];  // maximum and sum of each warp
  const int thread = static_cast<int>(threadIdx.x);
  uint4 loaded[VEC_ITEMS];
  int half = 0;

  wait_for_previous_kernel();
  long long r = blockIdx.x;
  if (PREFETCH) fetch<THREADS>(loaded, Row(x, y, r, M, N, kCapacity), thread);
  for (; r < M; r += gridDim.x, half ^= 1) {
    const Row row(x, y, r, M, N, kCapacity);
    if (!PREFETCH) fetch<THREADS>(loaded, row, thread);
    Share<THREADS> share;
    float m = share.open(loaded, row, thread);
    if (PREFETCH) fetch<THREADS>(loaded, Row(x, y, r + gridDim.x, M, N, kCapacity), thread);
    let_next_kernel_start();

    // A share or a warp without elements, or with -inf alone, has exponentials of 0 against any finite maximum.
    m = group_max<kWidth>(m);
    const float sum = group_sum<kWidth>(share.exponentials(fmaxf(m, -kFloatMax)));
    if (lane_id() == 0) shared[half][warp_id()] = make_float2(m, sum);
    __syncthreads();
    const float2 warp = lane_id() < kWarps ? shared[half][lane_id()] : make_float2(minus_infinity(), 0.0f);
    const float row_m = group_max<kWidth>(warp.x);
    const float row_sum = group_sum<kWidth>(warp.y * rescale_factor(warp.x - row_m));
    share.store(row, thread, rescaled_reciprocal(m, row_m, row_sum));
  }
}
