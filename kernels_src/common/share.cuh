// A lane's share of a row that LANES neighbouring lanes hold in registers: vectors number lane, lane + LANES, ... of
// the row's whole ones, VEC_ITEMS of them; and of the few elements beside these, every LANES-th of those before them
// and of those after them. No access is to what is another row's, and none is by a vector that is not aligned.
//
// ALIGNED: all rows of x and y are of whole vectors, and the code has nothing for elements beside them.
#pragma once

#include "common/exponential.cuh"
#include "common/launch.cuh"
#include "common/vectors.cuh"

// Where a lane's vectors lie: as a Reach, of a row by LANES.
template <typename Pointer, bool ALIGNED>
struct LaneReach {
  static constexpr bool kStreamed = Reach<Pointer, ALIGNED>::kStreamed;

  Pointer p;    // of the first vector
  int vectors;  // of the row, from that one on

  template <int ITEM>
  __device__ bool holds() const {
    return holds(ITEM);
  }
  __device__ bool holds(int item) const { return item * LANES < vectors; }
  // Where one is, all are.
  __device__ bool aligned() const { return ALIGNED || skew_of(p) == 0; }
};

using LaneVectors = Vectors<VEC_ITEMS, LANES>;

// Where a share lies.
template <bool ALIGNED>
struct Share {
  // Elements of a lane before the vectors, and as many after them.
  static constexpr int kBeside = ALIGNED ? 0 : (kVector + LANES - 1) / LANES;

  const Storage* x;  // of the lane's first vector
  Storage* y;
  int vectors;        // of the row, from the lane's first one on
  int before, after;  // elements of the row before its vectors, and after them

  Share() = default;

  // Of row r; without elements where it is beyond the matrix.
  //
  // The compiler is kept from working the fields out only where they are used, behind a wait for the previous kernel.
  __device__ Share(const Storage* matrix_x, Storage* matrix_y, long long r, long long M, long long N) {
    const Slice<ALIGNED> row(matrix_x, matrix_y, r, 0, 1u, M, N);
    const int first = lane() * kVector;
    x = row.row_x + row.start + first;
    y = row.row_y + row.start + first;
    vectors = static_cast<int>(row.count) - lane();
    before = row.before;
    after = row.end - row.after;
    asm volatile("" : "+l"(x), "+l"(y), "+r"(vectors), "+r"(before), "+r"(after));
    __builtin_assume(__isGlobal(x));  // which it no longer sees
    __builtin_assume(__isGlobal(y));
  }

  __device__ LaneReach<const Storage*, ALIGNED> loads() const { return {x, vectors}; }
  __device__ LaneReach<Storage*, ALIGNED> stores() const { return {y, vectors}; }

  // Of the lane's elements beside the vectors, by their number: whether the row has it, and its distance from x or y.
  __device__ bool has_beside(int k) const {
    return k < kBeside ? k * LANES + lane() < before : (k - kBeside) * LANES + lane() < after;
  }
  __device__ int position(int k) const {
    return k < kBeside ? k * LANES + lane() - before - lane() * kVector
                       : (k - kBeside) * LANES + lane() + vectors * kVector;
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % LANES; }
};

// A lane's elements beside the vectors. Several before them and after them, of fewer lanes than a vector has elements,
// are read again each time: registers for so many would leave fewer threads for aligned rows, which such lanes are for.
template <bool ALIGNED, int COUNT = Share<ALIGNED>::kBeside>
struct Beside {
  Beside() = default;
  __device__ explicit Beside(const Share<ALIGNED>& /*share*/) {}

  // The largest of them and m. A NaN is dropped, as by fmaxf.
  __device__ float maximum(const Share<ALIGNED>& share, float m) const {
    for_each(share, [&](int at) { m = fmaxf(m, Type::load(share.x[at])); });
    return m;
  }

  // The sum of their exponentials.
  __device__ float take_exponentials(const Share<ALIGNED>& share, float m) {
    float sum = 0;
    for_each(share, [&](int at) { sum += exponential(Type::load(share.x[at]) - m); });
    return sum;
  }

  // The exponentials times `scale`.
  __device__ void store(const Share<ALIGNED>& share, float m, float scale) const {
    for_each(share, [&](int at) { share.y[at] = Type::store(exponential(Type::load(share.x[at]) - m) * scale); });
  }

  // The elements themselves times `scale`.
  __device__ void store_times(const Share<ALIGNED>& share, float scale) const {
    for_each(share, [&](int at) { share.y[at] = Type::store(Type::load(share.x[at]) * scale); });
  }

 private:
  template <typename Of>
  __device__ static void for_each(const Share<ALIGNED>& share, Of of_position) {
#pragma unroll 1
    for (int k = 0; k < 2 * COUNT; ++k) {
      if (share.has_beside(k)) of_position(share.position(k));
    }
  }
};

// One before them and one after them.
template <bool ALIGNED>
struct Beside<ALIGNED, 1> {
  Storage loaded[2];  // -inf in the place of what the row does not have
  float exponentials[2];

  Beside() = default;
  __device__ explicit Beside(const Share<ALIGNED>& share) {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      loaded[k] = Type::from_bits(Type::kMinusInfinity);
      if (share.has_beside(k)) loaded[k] = share.x[share.position(k)];
    }
  }

  __device__ float maximum(const Share<ALIGNED>& /*share*/, float m) const {
    return fmaxf(m, fmaxf(Type::load(loaded[0]), Type::load(loaded[1])));
  }

  __device__ float take_exponentials(const Share<ALIGNED>& /*share*/, float m) {
    exponentials[0] = exponential(Type::load(loaded[0]) - m);
    exponentials[1] = exponential(Type::load(loaded[1]) - m);
    return exponentials[0] + exponentials[1];
  }

  __device__ void store(const Share<ALIGNED>& share, float /*m*/, float scale) const {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      if (share.has_beside(k)) share.y[share.position(k)] = Type::store(exponentials[k] * scale);
    }
  }

  __device__ void store_times(const Share<ALIGNED>& share, float scale) const {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      if (share.has_beside(k)) share.y[share.position(k)] = Type::store(Type::load(loaded[k]) * scale);
    }
  }
};

// None.
template <bool ALIGNED>
struct Beside<ALIGNED, 0> {
  Beside() = default;
  __device__ explicit Beside(const Share<ALIGNED>& /*share*/) {}
  __device__ float maximum(const Share<ALIGNED>& /*share*/, float m) const { return m; }
  __device__ float take_exponentials(const Share<ALIGNED>& /*share*/, float /*m*/) const { return 0; }
  __device__ void store(const Share<ALIGNED>& /*share*/, float /*m*/, float /*scale*/) const {}
  __device__ void store_times(const Share<ALIGNED>& /*share*/, float /*scale*/) const {}
};

// The elements of a share's vectors as floats.
struct OpenVectors {
  float v[VEC_ITEMS][kVector];

  __device__ explicit OpenVectors(const LaneVectors& loaded) {
#pragma unroll
    for (int i = 0; i < VEC_ITEMS; ++i) unpack(loaded.v[i], v[i]);
  }

  // Replaces elements by exponential(element - m). The sum of these, by four chains of additions, so that none is
  // longer than the accuracy rule allows and none waits long for itself.
  __device__ float take_exponentials(float m) {
    float sum[4] = {};
#pragma unroll
    for (int i = 0; i < VEC_ITEMS; ++i) {
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        v[i][k] = exponential(v[i][k] - m);
        sum[k % 4] += v[i][k];
      }
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }

  // Times `scale`, as they are stored.
  __device__ LaneVectors scaled(float scale) const {
    LaneVectors result;
#pragma unroll
    for (int i = 0; i < VEC_ITEMS; ++i) {
      float of_vector[kVector];
#pragma unroll
      for (int k = 0; k < kVector; ++k) of_vector[k] = v[i][k] * scale;
      result.v[i] = pack(of_vector);
    }
    return result;
  }
};

// of_row(share, vectors, elements beside them) for each of the ROWS rows that a group of lanes has, THREADS / LANES
// apart, all of which are on their way before the first is due.
template <bool ALIGNED, typename Of>
__device__ inline void for_each_row(const Storage* x, Storage* y, long long M, long long N, Of of_row) {
  constexpr int kGroups = THREADS / LANES;  // of the block
  const long long first = static_cast<long long>(blockIdx.x) * (kGroups * ROWS) + threadIdx.x / LANES;
  Share<ALIGNED> shares[ROWS];
#pragma unroll
  for (int j = 0; j < ROWS; ++j) shares[j] = Share<ALIGNED>(x, y, first + j * kGroups, M, N);

  wait_for_previous_kernel();
  LaneVectors loaded[ROWS];
  Beside<ALIGNED> beside[ROWS];
#pragma unroll
  for (int j = 0; j < ROWS; ++j) {
    loaded[j].load(shares[j].loads());
    beside[j] = Beside<ALIGNED>(shares[j]);
  }
  let_next_kernel_start();
#pragma unroll
  for (int j = 0; j < ROWS; ++j) of_row(shares[j], loaded[j], beside[j]);
}
