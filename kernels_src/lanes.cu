// lanes: LANES neighbouring lanes of a warp per row, the row in registers.
// One scan in 16-byte vectors, whatever the alignment of x and y. A group of lanes has ROWS rows, THREADS / LANES
// apart. Reads 1 and writes 1 element per element. N <= LANES * VEC_ITEMS vectors, and less than one more. No shared
// memory, no barrier. grid.x = ceil(M / (THREADS / LANES * ROWS)).
#include "common/group.cuh"
#include "common/share.cuh"

template <bool ALIGNED>
__device__ inline void softmax_rows(const Storage* x, Storage* y, long long M, long long N) {
  for_each_row<ALIGNED>(x, y, M, N,
                        [](const Share<ALIGNED>& share, const LaneVectors& loaded, Beside<ALIGNED>& beside) {
                          const float m = group_max<LANES>(beside.maximum(share, maximum(loaded)));
                          OpenVectors row(loaded);
                          const float sum = row.take_exponentials(m) + beside.take_exponentials(share, m);
                          const float scale = reciprocal(group_sum<LANES>(sum));
                          row.scaled(scale).store(share.stores());
                          beside.store(share, m, scale);
                        });
}

extern "C" __global__ void __launch_bounds__(THREADS) lanes(const Storage* x, Storage* y, long long M, long long N) {
  if (rows_are_aligned(x, y, N)) {
    softmax_rows<true>(x, y, M, N);
  } else {
    softmax_rows<false>(x, y, M, N);
  }
}
