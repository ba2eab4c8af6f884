// One of the parts of a row, in whole vectors: those that cover the row are dealt out evenly, in order.
#pragma once

#include "common/vectors.cuh"

// Elements of a part at most; a kernel that holds none of them on chip has no such limit.
#ifndef PART_CAPACITY
#define PART_CAPACITY (THREADS * (VEC_ITEMS + SHARED_ITEMS) * kVector)
#endif

// Whether rows are taken by lines. To place several parts by lines would take registers of the vectors.
#ifndef BY_LINES
#define BY_LINES false
#endif

// A number of parts that every thread can divide by.
struct PowerOfTwo {
  unsigned value;
  __device__ unsigned exponent() const { return 31 - __clz(value); }
  __device__ friend unsigned operator/(unsigned a, PowerOfTwo b) { return a >> b.exponent(); }
  __device__ friend unsigned operator%(unsigned a, PowerOfTwo b) { return a & (b.value - 1); }
  __device__ operator unsigned() const { return value; }
};

// The row that ends where part number `part` ends, and the first vector of that part.
struct Part {
  Row row;
  int first;

  // `parts` is unsigned, or a PowerOfTwo.
  template <typename Parts>
  __device__ Part(const Storage* x, Storage* y, long long r, unsigned part, Parts parts, long long M, long long N)
      : row(x, y, r, M, N, PART_CAPACITY == kNoLimit ? kNoLimit : static_cast<int>(parts) * PART_CAPACITY, 1,
            BY_LINES) {
    const unsigned vectors = (row.end + kVector - 1) / kVector;
    const unsigned each = vectors / parts, more = vectors % parts;
    const unsigned begin = part * each + min(part, more);
    first = static_cast<int>(begin);
    const int last = static_cast<int>(begin + each + (part < more ? 1 : 0)) * kVector;
    // A part without vectors has no elements either, wherever the row begins in its first vector.
    row.end = max(row.skew, min(row.end, last));
    row.safe_end = min(row.safe_end, last);
  }
};

__device__ inline Reach<const Storage*> loads_of(const Part& part) {
  return loads_of(part.row, part.first + static_cast<int>(thread_id()));
}
__device__ inline Reach<Storage*> stores_of(const Part& part) {
  return stores_of(part.row, part.first + static_cast<int>(thread_id()));
}
