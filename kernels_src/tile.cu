// tile: TILE_ROWS rows of a block, which are one run of elements, through shared memory.
// For short rows that are not aligned: the run is loaded and stored in whole 16-byte vectors, of which a row alone
// would have few. LANES neighbouring lanes compute a row, ITEMS elements each, in place in shared memory: several by
// words, one by elements. Reads 1 and writes 1 element per element of global memory. N <= LANES * ITEMS, less one where
// 16-bit elements fill the words of several lanes. Dynamic shared memory: the run's vectors.
// grid.x = ceil(M / TILE_ROWS).
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

// A lane's share of a row that begins `at` elements after the tile's first vector and has n elements, none for a group
// without a row: 32-bit words lane, lane + LANES, ... of those that cover the row. A word at an end of it may hold an
// element of a neighbour, which another group is about to overwrite.
struct Words {
  static constexpr int kWords = (ITEMS + kPerWord - 1) / kPerWord;
  static constexpr int kCount = kWords * kPerWord;  // of elements

  unsigned* first;
  int begin, end;  // of the row, in elements from the first word

  __device__ Words(int at, int n)
      : first(reinterpret_cast<unsigned*>(tile_vectors) + static_cast<unsigned>(at) / kPerWord),
        begin(static_cast<unsigned>(at) % kPerWord),
        end(begin + n) {}

  // The largest element. v: the elements, and -inf in the place of what is not of the row.
  __device__ float load(float (&v)[kCount]) const {
    unsigned highest = Type::kMinusInfinity;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const unsigned word = load_word(i);
      highest = Type::max_words(highest, word);
      float of_word[kPerWord];
      Type::unpack(word, of_word);
#pragma unroll
      for (int k = 0; k < kPerWord; ++k) v[i * kPerWord + k] = of_word[k];
    }
    return word_max(highest);
  }

  __device__ void store(const float (&v)[kCount]) const {
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      float of_word[kPerWord];
#pragma unroll
      for (int k = 0; k < kPerWord; ++k) of_word[k] = v[i * kPerWord + k];
      store_word(i, Type::pack(of_word));
    }
  }

 private:
  __device__ static int position(int i) {
    return (i * LANES + static_cast<int>(threadIdx.x % LANES)) * kPerWord;
  }
  // Only the first word of a lane may begin before the row does.
  __device__ bool whole(int i) const {
    return (i > 0 || position(i) >= begin) && position(i) + kPerWord <= end;
  }

  __device__ unsigned load_word(int i) const {
    if (whole(i)) return first[position(i) / kPerWord];
    unsigned word = Type::kMinusInfinity;
    if (kPerWord == 1) return word;
    const int low = position(i), high = low + 1;
    if (holds(low)) word = (word & ~kElementMask) | Type::bits(element(low));
    // Beyond the first word, what is not whole ends in the middle.
    if (i == 0 && holds(high)) word = (word & kElementMask) | Type::bits(element(high)) << 16;
    return word;
  }

  __device__ void store_word(int i, unsigned word) const {
    if (whole(i)) {
      first[position(i) / kPerWord] = word;
    } else if (kPerWord > 1) {
      const int low = position(i), high = low + 1;
      if (holds(low)) element(low) = Type::from_bits(word);
      if (i == 0 && holds(high)) element(high) = Type::from_bits(word >> 16);
    }
  }

  __device__ bool holds(int position) const {
    return position >= begin && position < end;
  }
  __device__ Storage& element(int position) const {
    return reinterpret_cast<Storage*>(first)[position];
  }
};

// The same of a row that a lane has alone: by elements, since a row of so few has hardly a word that is whole. WHOLE:
// it has ITEMS of them, which are then not compared with n.
template <bool WHOLE>
struct Elements {
  static constexpr int kCount = ITEMS;

  Storage* first;
  int n;

  __device__ Elements(int at, int n) : first(reinterpret_cast<Storage*>(tile_vectors) + at), n(n) {}

  __device__ float load(float (&v)[kCount]) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) v[i] = holds(i) ? Type::load(first[i]) : minus_infinity();
    float m = v[0];
#pragma unroll
    for (int i = 1; i < kCount; ++i) m = fmaxf(m, v[i]);
    return m;
  }

  __device__ void store(const float (&v)[kCount]) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (holds(i)) first[i] = Type::store(v[i]);
    }
  }

 private:
  __device__ bool holds(int i) const {
    return WHOLE || i < n;
  }
};

// The softmax of a row in its place, by a group of lanes.
template <typename Share>
__device__ inline void compute_row(const Share& row) {
  float v[Share::kCount];
  const float m = group_max<LANES>(row.load(v));
  float sum[4] = {};
#pragma unroll
  for (int i = 0; i < Share::kCount; ++i) {
    v[i] = exponential(v[i] - m);
    sum[i % 4] = i < 4 ? v[i] : sum[i % 4] + v[i];
  }
  const float scale = reciprocal(group_sum<LANES>((sum[0] + sum[1]) + (sum[2] + sum[3])));
#pragma unroll
  for (int i = 0; i < Share::kCount; ++i) v[i] *= scale;
  row.store(v);
}

// The tile's row that begins `at` elements after its first vector; `exists`: the matrix has it.
__device__ inline void compute_row_at(int at, int n, bool exists) {
  if (LANES > 1) {
    compute_row(Words(at, exists ? n : 0));
  } else if (exists && n == ITEMS) {
    compute_row(Elements<true>(at, n));
  } else if (exists) {
    compute_row(Elements<false>(at, n));
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
    compute_row_at(at, n, at < run.end);
  }
  __syncthreads();
  for (int at = begin; at < run.end; at += THREADS * kVector) run.store(at, tile_vectors[at / kVector]);
}
