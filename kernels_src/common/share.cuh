// A lane's share of a row that LANES neighbouring lanes hold in registers: vectors number lane, lane + LANES, ... of
// the row's whole ones, VEC_ITEMS of them; and of the few elements beside these, every LANES-th of those before them
// and of those after them. No access is to what is another row's, and none is by a vector that is not aligned.
//
// ALIGNED: all rows of x and y are of whole vectors, and the code has nothing for elements beside them.
#pragma once

#include "common/exponential.cuh"
#include "common/vectors.cuh"

template <bool ALIGNED>
struct Beside {
  static constexpr int kOfLane = ALIGNED ? 0 : (kVector + LANES - 1) / LANES;  // before the vectors; as many after them
  static constexpr int kCount = 2 * kOfLane;
  static constexpr int kPlaces = kCount > 0 ? kCount : 1;  // no array has none
};

// As it was loaded; -inf in the place of what the row does not have.
template <bool ALIGNED>
struct LoadedShare {
  Vectors<VEC_ITEMS, LANES> vectors;
  Storage beside[Beside<ALIGNED>::kPlaces];

  // Its largest element. A NaN is dropped, as by fmaxf.
  __device__ float maximum() const {
    float m = ::maximum(vectors);
#pragma unroll
    for (int k = 0; k < Beside<ALIGNED>::kCount; ++k) m = fmaxf(m, Type::load(beside[k]));
    return m;
  }
};

// Where it lies.
template <bool ALIGNED>
struct Share {
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

  __device__ LoadedShare<ALIGNED> load() const {
    LoadedShare<ALIGNED> loaded;
    load_vectors(loaded);
#pragma unroll
    for (int k = 0; k < Beside<ALIGNED>::kCount; ++k) {
      loaded.beside[k] = Type::from_bits(Type::kMinusInfinity);
      if (has_beside(k)) loaded.beside[k] = x[position(k)];
    }
    return loaded;
  }

  __device__ void store(const Vectors<VEC_ITEMS, LANES>& softmax) const {
    if (ALIGNED || skew_of(y) == 0) {
      store_vectors(softmax);
    } else {
#pragma unroll 1
      for (int i = 0; i < VEC_ITEMS; ++i) {
        if (i * LANES < vectors) store_elements(y + i * kStride, item_of(softmax.v, i));
      }
    }
  }

  __device__ void store_beside(int k, float v) const {
    if (has_beside(k)) y[position(k)] = Type::store(v);
  }

 private:
  static constexpr int kStride = LANES * kVector;
  static constexpr bool kStreamed = Reach<Storage*, ALIGNED>::kStreamed;
  static constexpr int kBefore = Beside<ALIGNED>::kOfLane;

  __device__ static int lane() {
    return static_cast<int>(threadIdx.x) % LANES;
  }

  template <int ITEM = 0>
  __device__ void load_vectors(LoadedShare<ALIGNED>& loaded) const {
    if constexpr (ITEM < VEC_ITEMS) {
      loaded.vectors.v[ITEM] = all_minus_infinity();
      if (ITEM * LANES < vectors) loaded.vectors.v[ITEM] = load_vector<ITEM * kStride>(x, kStreamed);
      load_vectors<ITEM + 1>(loaded);
    }
  }

  template <int ITEM = 0>
  __device__ void store_vectors(const Vectors<VEC_ITEMS, LANES>& softmax) const {
    if constexpr (ITEM < VEC_ITEMS) {
      if (ITEM * LANES < vectors) store_vector<ITEM * kStride>(y, softmax.v[ITEM], kStreamed);
      store_vectors<ITEM + 1>(softmax);
    }
  }

  // Of the lane's elements beside the vectors, by their number: whether the row has it, and its distance from x or y.
  __device__ bool has_beside(int k) const {
    return k < kBefore ? k * LANES + lane() < before : (k - kBefore) * LANES + lane() < after;
  }
  __device__ int position(int k) const {
    return k < kBefore ? k * LANES + lane() - before - lane() * kVector
                       : (k - kBefore) * LANES + lane() + vectors * kVector;
  }
};

// Its elements as floats.
template <bool ALIGNED>
struct OpenShare {
  float v[VEC_ITEMS][kVector];
  float beside[Beside<ALIGNED>::kPlaces];

  __device__ explicit OpenShare(const LoadedShare<ALIGNED>& loaded) {
#pragma unroll
    for (int i = 0; i < VEC_ITEMS; ++i) unpack(loaded.vectors.v[i], v[i]);
#pragma unroll
    for (int k = 0; k < Beside<ALIGNED>::kCount; ++k) beside[k] = Type::load(loaded.beside[k]);
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
#pragma unroll
    for (int k = 0; k < Beside<ALIGNED>::kCount; ++k) {
      beside[k] = exponential(beside[k] - m);
      sum[k % 4] += beside[k];
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }

  // Times `scale`, to where the share lies.
  __device__ void store(const Share<ALIGNED>& share, float scale) const {
    Vectors<VEC_ITEMS, LANES> scaled;
#pragma unroll
    for (int i = 0; i < VEC_ITEMS; ++i) {
      float of_vector[kVector];
#pragma unroll
      for (int k = 0; k < kVector; ++k) of_vector[k] = v[i][k] * scale;
      scaled.v[i] = pack(of_vector);
    }
    share.store(scaled);
#pragma unroll
    for (int k = 0; k < Beside<ALIGNED>::kCount; ++k) share.store_beside(k, beside[k] * scale);
  }
};
