// lanes: LANES neighbouring lanes of a warp per row, the row in registers.
// One scan in 16-byte vectors, whatever the alignment of x and y. A group of lanes has ROWS rows, THREADS / LANES
// apart. Reads 1 and writes 1 element per element. N <= LANES * VEC_ITEMS vectors, and less than one more. No shared
// memory, no barrier. grid.x = ceil(M / (THREADS / LANES * ROWS)).
#include "common/group.cuh"
#include "common/launch.cuh"
#include "common/share.cuh"

constexpr int kGroups = THREADS / LANES;  // of the block

template <bool ALIGNED>
__device__ inline void softmax_rows(const Storage* x, Storage* y, long long M, long long N) {
  const long long first = static_cast<long long>(blockIdx.x) * (kGroups * ROWS) + threadIdx.x / LANES;
  Share<ALIGNED> shares[ROWS];
#pragma unroll
  for (int j = 0; j < ROWS; ++j) shares[j] = Share<ALIGNED>(x, y, first + j * kGroups, M, N);

  wait_for_previous_kernel();
  LoadedShare<ALIGNED> loaded[ROWS];
#pragma unroll
  for (int j = 0; j < ROWS; ++j) loaded[j] = shares[j].load();
  let_next_kernel_start();
#pragma unroll
  for (int j = 0; j < ROWS; ++j) {
    const float m = group_max<LANES>(loaded[j].maximum());
    OpenShare<ALIGNED> row(loaded[j]);
    const float sum = group_sum<LANES>(row.take_exponentials(m));
    row.store(shares[j], reciprocal(sum));
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) lanes(const Storage* x, Storage* y, long long M, long long N) {
  if (rows_are_aligned(x, y, N)) {
    softmax_rows<true>(x, y, M, N);
  } else {
    softmax_rows<false>(x, y, M, N);
  }
}
