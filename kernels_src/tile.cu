// tile: TILE_ROWS rows of a block, which are one run of elements, through shared memory.
// For short rows that are not aligned: the run is loaded and stored in whole 16-byte vectors, of which a row alone
// would have few. LANES neighbouring lanes compute a row, ITEMS elements each, in place in shared memory. Blocks walk
// over the tiles where the grid is shorter. Reads 1 and writes 1 element per element of global memory. Any M; N <=
// LANES * ITEMS. Dynamic shared memory: the run's vectors.
#include "common/async_copy.cuh"
#include "common/exponential.cuh"
#include "common/group.cuh"
#include "common/launch.cuh"
#include "common/row.cuh"

constexpr int kGroups = THREADS / LANES;  // of the block
constexpr int kAnyLength = 0x7fffffff;

extern __shared__ uint4 tile_vectors[];

// Complete after wait_for_copies().
__device__ inline void copy_position(uint4* to, const Row& run, int at) {
  if (run.safe(at)) {
    copy_vector(to, run.x + at);
  } else {
    *to = run.fetch(at);
  }
}

// The softmax of n elements, by a group of lanes; n is 0 for a group without a row.
__device__ inline void compute_row(Storage* row, int n) {
  const int lane = static_cast<int>(threadIdx.x) % LANES;
  float v[ITEMS];
  float m = minus_infinity();
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    const int at = i * LANES + lane;
    v[i] = at < n ? Type::load(row[at]) : minus_infinity();
    m = fmaxf(m, v[i]);
  }
  m = group_max<LANES>(m);
  float sum[4] = {};
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    v[i] = exponential(v[i] - m);
    sum[i % 4] += v[i];
  }
  const float scale = reciprocal(group_sum<LANES>((sum[0] + sum[1]) + (sum[2] + sum[3])));
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    const int at = i * LANES + lane;
    if (at < n) row[at] = Type::store(v[i] * scale);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) tile(const Storage* x, Storage* y, long long M, long long N) {
  Storage* const elements = reinterpret_cast<Storage*>(tile_vectors);
  const int n = static_cast<int>(N);
  const int begin = static_cast<int>(threadIdx.x) * kVector;

  wait_for_previous_kernel();
  for (long long r = static_cast<long long>(blockIdx.x) * TILE_ROWS; r < M;
       r += static_cast<long long>(gridDim.x) * TILE_ROWS) {
    const Row run(x, y, r, M, N, kAnyLength, TILE_ROWS);
    for (int at = begin; at < run.end; at += THREADS * kVector) copy_position(tile_vectors + at / kVector, run, at);
    let_next_kernel_start();
    wait_for_copies();
    __syncthreads();
    // As often for every lane: a warp's groups shuffle together.
#pragma unroll 1
    for (int row = static_cast<int>(threadIdx.x) / LANES; row / kGroups * kGroups < TILE_ROWS; row += kGroups) {
      const int at = run.skew + row * n;
      compute_row(elements + at, at < run.end ? n : 0);
    }
    __syncthreads();
    for (int at = begin; at < run.end; at += THREADS * kVector) run.store(at, tile_vectors[at / kVector]);
    __syncthreads();  // before the next run overwrites this one
  }
}
