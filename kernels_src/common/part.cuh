// One of PARTS parts of a row, in whole vectors: those that cover the row are dealt out evenly, in order.
#pragma once

#include "common/vectors.cuh"

// Elements of a row at most; a kernel that holds none of them on chip has no such limit.
#ifndef ROW_CAPACITY
#define ROW_CAPACITY (PARTS * THREADS * (VEC_ITEMS + SHARED_ITEMS) * kVector)
#endif

// Whether rows are taken by lines. To place several parts by lines would take registers of the vectors.
#ifndef BY_LINES
#define BY_LINES false
#endif

// The row that ends where part number `part` ends, and the first vector of that part.
struct Part {
  Row row;
  int first;

  __device__ Part(const Storage* x, Storage* y, long long r, int part, long long M, long long N)
      : row(x, y, r, M, N, ROW_CAPACITY, 1, BY_LINES) {
    const int vectors = (row.end + kVector - 1) / kVector;
    first = static_cast<int>(static_cast<long long>(vectors) * part / PARTS);
    const int last = static_cast<int>(static_cast<long long>(vectors) * (part + 1) / PARTS) * kVector;
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
