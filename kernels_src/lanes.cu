// lanes: LANES neighbouring lanes of a warp per row, the row in registers.
// One scan in 16-byte vectors, whatever the alignment of x and y. A group of lanes has ROWS rows, THREADS / LANES
// apart. Reads 1 and writes 1 element per element. N <= LANES * VEC_ITEMS vectors, less what precedes the row in its
// first vector where rows are not aligned. No shared memory, no barrier. grid.x = ceil(M / (THREADS / LANES * ROWS)).
#include "common/group.cuh"
#include "common/launch.cuh"
#include "common/share.cuh"

constexpr int kGroups = THREADS / LANES;  // of the block
constexpr int kBlockRows = kGroups * ROWS;
constexpr int kCapacity = LANES * VEC_ITEMS * kVector;

// Rows that are ALIGNED have no vector that is another row's too. Of others, two share a sector of the cache, which
// each reads and writes a part of, and which must not leave in between: they are not streamed.
template <bool ALIGNED>
__device__ inline void softmax_rows(const Storage* x, Storage* y, long long M, long long N) {
  const int lane = static_cast<int>(threadIdx.x) % LANES;
  const long long first = static_cast<long long>(blockIdx.x) * kBlockRows + threadIdx.x / LANES;
  Row rows[ROWS];
#pragma unroll
  for (int j = 0; j < ROWS; ++j) {
    rows[j] = Row(x, y, first + j * kGroups, M, N, kCapacity);
    rows[j].keep();
    rows[j].streamed = ALIGNED;
  }

  wait_for_previous_kernel();
  uint4 fetched[ROWS][VEC_ITEMS];
#pragma unroll
  for (int j = 0; j < ROWS; ++j) fetch<LANES>(fetched[j], rows[j], lane);
  let_next_kernel_start();
#pragma unroll
  for (int j = 0; j < ROWS; ++j) {
    Share<LANES> share;
    const float m = group_max<LANES>(share.open(fetched[j], rows[j], lane));
    const float sum = group_sum<LANES>(share.exponentials(m));
    uint4 softmax[VEC_ITEMS];
    share.pack(reciprocal(sum), softmax);
    store_whole<LANES>(softmax, rows[j], lane);
    if (!ALIGNED) store_others<LANES>(softmax, rows[j], lane);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) lanes(const Storage* x, Storage* y, long long M, long long N) {
  if (skew_of(x) == 0 && skew_of(y) == 0 && N % kVector == 0) {
    softmax_rows<true>(x, y, M, N);
  } else {
    softmax_rows<false>(x, y, M, N);
  }
}
