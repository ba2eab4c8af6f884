// tile: TILE_ROWS rows of a block, which are one run of elements, through shared memory.
// For short rows that are not aligned: the run is loaded and stored in whole 16-byte vectors, of which a row alone
// would have few. LANES neighbouring lanes compute a row, ITEMS elements each, in place in shared memory. Reads 1 and
// writes 1 element per element of global memory. N <= LANES * ITEMS, less one where 16-bit elements fill a lane's
// words. Dynamic shared memory: the run's vectors. grid.x = ceil(M / TILE_ROWS).
#include "common/async_copy.cuh"
#include "common/exponential.cuh"
#include "common/group.cuh"
#include "common/launch.cuh"
#include "common/row.cuh"
#include "common/vectors.cuh"

constexpr unsigned kGroups = THREADS / LANES;  // of the block

extern __shared__ uint4 tile_vectors[];

// Complete after wait_for_copies().
__device__ inline void copy_position(uint4* to, const Row& run, int at) {
  if (run.safe(at)) {
    copy_vector(to, run.x + at);
  } else {
    *to = run.fetch(at);
  }
}

// The share of a lane of a row that begins `at` elements after the tile's first vector and has n elements, none for a
// group without a row: 32-bit words lane, lane + LANES, ... of those that cover the row. A word at an end of it may
// hold an element of a neighbour, which another group is about to overwrite.
struct Words {
  static constexpr int kCount = (ITEMS + kPerWord - 1) / kPerWord;
  unsigned* first;
  int begin, end;  // of the row, in elements from the first word

  __device__ Words(int at, int n)
      : first(reinterpret_cast<unsigned*>(tile_vectors) + static_cast<unsigned>(at) / kPerWord),
        begin(static_cast<unsigned>(at) % kPerWord),
        end(begin + n) {}

  __device__ static int position(int i) { return (i * LANES + static_cast<int>(threadIdx.x % LANES)) * kPerWord; }
  // Only the first word of a lane may begin before the row does.
  __device__ bool whole(int i) const { return (i > 0 || position(i) >= begin) && position(i) + kPerWord <= end; }

  // -inf in the place of what is not of the row.
  __device__ unsigned load(int i) const {
    if (whole(i)) return first[position(i) / kPerWord];
    unsigned word = Type::kMinusInfinity;
    if (kPerWord == 1) return word;
    const int low = position(i), high = low + 1;
    if (holds(low)) word = (word & ~kElementMask) | Type::bits(element(low));
    // Beyond the first word, what is not whole ends in the middle.
    if (i == 0 && holds(high)) word = (word & kElementMask) | Type::bits(element(high)) << 16;
    return word;
  }

  __device__ void store(int i, unsigned word) const {
    if (whole(i)) {
      first[position(i) / kPerWord] = word;
    } else if (kPerWord > 1) {
      const int low = position(i), high = low + 1;
      if (holds(low)) element(low) = Type::from_bits(word);
      if (i == 0 && holds(high)) element(high) = Type::from_bits(word >> 16);
    }
  }

 private:
  __device__ bool holds(int position) const { return position >= begin && position < end; }
  __device__ Storage& element(int position) const { return reinterpret_cast<Storage*>(first)[position]; }
};

// The softmax of a row in its place, by a group of lanes.
__device__ inline void compute_row(const Words& words) {
  float v[Words::kCount][kPerWord];
  unsigned highest = Type::kMinusInfinity;
#pragma unroll
  for (int i = 0; i < Words::kCount; ++i) {
    const unsigned word = words.load(i);
    highest = Type::max_words(highest, word);
    Type::unpack(word, v[i]);
  }
  const float m = group_max<LANES>(word_max(highest));
  float sum[4] = {};
#pragma unroll
  for (int i = 0; i < Words::kCount; ++i) {
#pragma unroll
    for (int k = 0; k < kPerWord; ++k) {
      v[i][k] = exponential(v[i][k] - m);
      sum[(i * kPerWord + k) % 4] += v[i][k];
    }
  }
  const float scale = reciprocal(group_sum<LANES>((sum[0] + sum[1]) + (sum[2] + sum[3])));
#pragma unroll
  for (int i = 0; i < Words::kCount; ++i) {
#pragma unroll
    for (int k = 0; k < kPerWord; ++k) v[i][k] *= scale;
    words.store(i, Type::pack(v[i]));
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) tile(const Storage* x, Storage* y, long long M, long long N) {
  const int n = static_cast<int>(N);
  const int begin = static_cast<int>(threadIdx.x) * kVector;

  Row run(x, y, static_cast<long long>(blockIdx.x) * TILE_ROWS, M, N, kNoLimit, TILE_ROWS);
  run.keep();  // ready when the previous kernel is

  wait_for_previous_kernel();
  for (int at = begin; at < run.end; at += THREADS * kVector) copy_position(tile_vectors + at / kVector, run, at);
  let_next_kernel_start();
  wait_for_copies();
  __syncthreads();
  // As often for every lane: a warp's groups shuffle together.
#pragma unroll 1
  for (unsigned row = threadIdx.x / LANES; row / kGroups * kGroups < TILE_ROWS; row += kGroups) {
    const int at = run.skew + static_cast<int>(row) * n;
    compute_row(Words(at, at < run.end ? n : 0));
  }
  __syncthreads();
  for (int at = begin; at < run.end; at += THREADS * kVector) run.store(at, tile_vectors[at / kVector]);
}
