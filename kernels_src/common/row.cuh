// A run of elements (a row, or several) as the aligned 16-byte vectors that cover it. At an odd N rows begin anywhere
// in a vector, and the first and the last vector then hold elements of the neighbours too. Positions count elements
// from the first vector's beginning, so that those of vectors are multiples of kVector.
#pragma once

#include "common/vector_access.cuh"

constexpr int kNoLimit = 0x7fffffff;  // of a capacity

struct Row {
  const Storage* x;          // of position 0
  Storage* y;                // where position 0 would be stored
  int skew;                  // position of the first element
  int end;                   // one past the last element
  int safe_begin, safe_end;  // vectors between these positions may be read
  bool same_skew;            // y lies as x does: whole vectors can be stored

  Row() = default;

  // `rows` rows from r on, less where the matrix ends; a run without elements where r is beyond it.
  //
  // A neighbour's elements in a vector are read and not used. They are not read where they don't exist, at the
  // matrix's two ends, and where y is x, since another block may be writing them.
  //
  // `capacity` is the number of elements that the row's threads have places for. Where a row of as many begins inside
  // of a vector, one more would have to cover it: position 0 is then its first element, and no access is by vectors.
  __device__ Row(const Storage* matrix_x, Storage* matrix_y, long long r, long long M, long long N, int capacity,
                 int rows = 1) {
    const Storage* begin = row_start(matrix_x, r, N);
    Storage* out = row_start(matrix_y, r, N);
    const long long left = M - r;
    const bool in_place = matrix_x == matrix_y;
    const bool covered = skew_of(begin) + static_cast<int>(N) <= capacity;
    skew = covered ? skew_of(begin) : 0;
    same_skew = covered && skew == skew_of(out);
    x = begin - skew;
    y = out - skew;
    // One row needs no minimum.
    const int within = rows == 1 || left >= rows ? rows : static_cast<int>(left);
    end = skew + (left > 0 ? static_cast<int>(N) * within : 0);
    const int before = in_place ? 0 : at_most_a_vector(r, N);
    const int after = in_place ? 0 : at_most_a_vector(left - rows, N);
    safe_begin = skew <= before ? 0 : skew;
    safe_end = covered ? end + after : 0;
  }

  // Elements of so many rows, none for a negative number; kVector stands for more.
  __device__ static int at_most_a_vector(long long rows, long long N) {
    if (rows <= 0) return 0;
    return rows >= kVector || N >= kVector ? kVector : min(kVector, static_cast<int>(rows * N));
  }

  // The compiler is kept from working the fields out only where they are used, behind a wait for the previous kernel.
  __device__ void keep() {
    asm volatile("" : "+l"(x), "+l"(y), "+r"(skew), "+r"(end), "+r"(safe_begin), "+r"(safe_end));
    __builtin_assume(__isGlobal(x));  // which it no longer sees
    __builtin_assume(__isGlobal(y));
  }

  // Whether any of it may be accessed by vectors.
  __device__ bool by_vectors() const { return safe_end > 0; }

  __device__ bool holds(int at) const { return static_cast<unsigned>(at - skew) < static_cast<unsigned>(end - skew); }
  __device__ bool whole(int at) const { return at >= skew && at + kVector <= end; }
  __device__ bool safe(int at) const { return at >= safe_begin && at + kVector <= safe_end; }

  // The vector at a position, with anything in the place of elements that are not of the run.
  __device__ uint4 fetch(int at) const {
    if (at >= end) return uint4{};
    return safe(at) ? load_vector(x + at) : fetch_own(at);
  }

  __device__ void store(int at, const uint4& vector) const {
    if (at >= end) return;
    if (same_skew && whole(at)) {
      store_vector(y + at, vector);
    } else {
      store_own(at, vector);
    }
  }

  __device__ uint4 fetch_own(int at) const {
    unsigned words[4] = {};
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      if (holds(at + k)) words[k / kPerWord] |= Type::bits(x[at + k]) << k % kPerWord * 8 * kElementBytes;
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
  }

  // By 32-bit words where these are aligned in y and have no neighbour's element, else by elements.
  __device__ void store_own(int at, const uint4& vector) const {
    const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
    const bool by_words = kPerWord == 1 || skew_of(y) % kPerWord == 0;
#pragma unroll
    for (int k = 0; k < kVector; k += kPerWord) {
      const unsigned word = words[k / kPerWord];
      if (by_words && holds(at + k) && holds(at + k + kPerWord - 1)) {
        *reinterpret_cast<unsigned*>(y + at + k) = word;
      } else {
#pragma unroll
        for (int j = k; j < k + kPerWord; ++j) {
          if (holds(at + j)) y[at + j] = Type::from_bits(word >> j % kPerWord * 8 * kElementBytes);
        }
      }
    }
  }
};

constexpr unsigned kElementMask = kElementBytes == 4 ? 0xffffffffu : 0xffffu;

// The vector at a position with -inf in the place of what is not of the row.
__device__ inline uint4 own_elements(const Row& row, int at, const uint4& vector) {
  unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    const unsigned mask = kElementMask << k % kPerWord * 8 * kElementBytes;
    if (!row.holds(at + k)) words[k / kPerWord] = (words[k / kPerWord] & ~mask) | (Type::kMinusInfinity & mask);
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}
