// lanes: LANES neighbouring lanes of a warp per row, the row in registers.
// One scan in 16-byte vectors, whatever the alignment of x and y. A group of lanes has ROWS rows at a time, THREADS /
// LANES apart; with PREFETCH it loads the rows of its next round before it computes the present ones. Blocks walk over
// the rows where the grid is shorter. Reads 1 and writes 1 element per element. Any M; N <= LANES * VEC_ITEMS vectors,
// less what precedes the row in its first vector where rows are not aligned. No shared memory, no barrier.
#include "common/group.cuh"
#include "common/launch.cuh"
#include "common/share.cuh"

constexpr int kGroups = THREADS / LANES;  // of the block
constexpr int kBlockRows = kGroups * ROWS;
constexpr int kCapacity = LANES * VEC_ITEMS * kVector;

// The shares of rows r, r + kGroups, ...
__device__ inline void fetch_rows(uint4 (&shares)[ROWS][VEC_ITEMS], const Storage* x, Storage* y, long long r,
                                  long long M, long long N) {
#pragma unroll
  for (int j = 0; j < ROWS; ++j) {
    fetch<LANES>(shares[j], Row(x, y, r + j * kGroups, M, N, kCapacity), static_cast<int>(threadIdx.x) % LANES);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) lanes(const Storage* x, Storage* y, long long M, long long N) {
  const int lane = static_cast<int>(threadIdx.x) % LANES;
  const long long step = static_cast<long long>(gridDim.x) * kBlockRows;
  const long long in_block = threadIdx.x / LANES;
  uint4 now[ROWS][VEC_ITEMS], next[ROWS][VEC_ITEMS];

  wait_for_previous_kernel();
  long long first = static_cast<long long>(blockIdx.x) * kBlockRows;
  if (PREFETCH) fetch_rows(now, x, y, first + in_block, M, N);
  for (; first < M; first += step) {
    if (PREFETCH) {
      fetch_rows(next, x, y, first + step + in_block, M, N);
    } else {
      fetch_rows(now, x, y, first + in_block, M, N);
    }
    let_next_kernel_start();
#pragma unroll
    for (int j = 0; j < ROWS; ++j) {
      const Row row(x, y, first + in_block + j * kGroups, M, N, kCapacity);
      Share<LANES> share;
      const float m = group_max<LANES>(share.open(now[j], row, lane));
      const float sum = group_sum<LANES>(share.exponentials(m));
      share.store(row, lane, reciprocal(sum));
    }
    if (PREFETCH) {
#pragma unroll
      for (int j = 0; j < ROWS; ++j) {
#pragma unroll
        for (int i = 0; i < VEC_ITEMS; ++i) now[j][i] = next[j][i];
      }
    }
  }
}
