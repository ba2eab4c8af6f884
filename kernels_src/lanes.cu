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
  Vectors<VEC_ITEMS, LANES> loaded[ROWS];
  Beside<ALIGNED> beside[ROWS];
#pragma unroll
  for (int j = 0; j < ROWS; ++j) {
    loaded[j] = shares[j].load();
    beside[j] = Beside<ALIGNED>(shares[j]);
  }
  let_next_kernel_start();
#pragma unroll
  for (int j = 0; j < ROWS; ++j) {
    const float m = group_max<LANES>(beside[j].maximum(shares[j], maximum(loaded[j])));
    OpenVectors row(loaded[j]);
    const float sum = row.take_exponentials(m) + beside[j].take_exponentials(shares[j], m);
    const float scale = reciprocal(group_sum<LANES>(sum));
    shares[j].store(row.scaled(scale));
    beside[j].store(shares[j], m, scale);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) lanes(const Storage* x, Storage* y, long long M, long long N) {
  if (rows_are_aligned(x, y, N)) {
    softmax_rows<true>(x, y, M, N);
  } else {
    softmax_rows<false>(x, y, M, N);
  }
}
