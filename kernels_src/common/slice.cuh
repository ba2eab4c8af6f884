// A part of a row as the vectors that are the row's alone, and the elements beside them: at an odd N a row begins and
// ends anywhere in a vector, and fewer elements than a vector has lie before its first whole one, and after its last.
//
// The vectors are dealt out to the row's parts evenly and in order. Of the elements beside them each is one thread's:
// whoever has one takes an element more, and all others do what they do for a row of whole vectors. No access is to
// what is another row's, and none is by a vector that is not aligned.
//
// ALIGNED: all rows of x and y are of whole vectors, and the code has nothing for elements beside them. That such code
// is there, too, would make the other wait: instructions of one stretch overlap, those of two hardly.
#pragma once

#include "common/vector_access.cuh"

constexpr int kLineVectors = 8;            // of a cache line
constexpr int kEdgeThreads = 2 * kVector;  // the block's last ones: for elements before the vectors, and after them

// Whether rows of more than one vector for each thread are taken by lines: those that are not of whole vectors, where a
// block has places enough for the vectors that precede the row in its line. A warp's access then touches no
// line more than it must.
#ifndef BY_LINES
#define BY_LINES false
#endif

// Whether STREAM is for rows that are not ALIGNED, too. Two of them share a sector of the caches, which each reads and
// writes a part of, and which must not leave in between. Of long rows that is too little to matter.
#ifndef STREAM_ALL
#define STREAM_ALL false
#endif

// A number of parts that every thread can divide by.
struct PowerOfTwo {
  unsigned value;
  __device__ unsigned exponent() const { return 31 - __clz(value); }
  __device__ friend unsigned operator/(unsigned a, PowerOfTwo b) { return a >> b.exponent(); }
  __device__ friend unsigned operator%(unsigned a, PowerOfTwo b) { return a & (b.value - 1); }
  __device__ operator unsigned() const { return value; }
};

// Which of some vectors part number `part` has, where they are dealt out evenly and in order. `parts` is unsigned, or a
// PowerOfTwo.
struct Deal {
  unsigned first, count;

  template <typename Parts>
  __device__ Deal(unsigned vectors, unsigned part, Parts parts) {
    const unsigned each = vectors / parts, more = vectors % parts;
    first = part * each + min(part, more);
    count = each + (part < more ? 1 : 0);
  }
};

// Where a thread's vectors lie: numbers `first`, first + THREADS, ... of a slice.
//
// The compiler is kept from working these values out anew for each vector, which would cost it several instructions an
// element where a row leaves it few registers.
template <typename Pointer, bool ALIGNED>
struct Reach {
  static constexpr bool kStreamed = ALIGNED || STREAM_ALL;

  Pointer p;       // of the first vector
  int at;          // its place among the slice's vectors
  unsigned count;  // of these

  __device__ Reach(Pointer start, int first, int lead, unsigned count)
      : p(start + static_cast<long long>(first) * kVector), at(first - lead), count(count) {
    asm volatile("" : "+l"(p), "+r"(at), "+r"(this->count));
    __builtin_assume(__isGlobal(p));  // which it no longer sees
  }

  template <int ITEM>
  __device__ bool holds() const {
    return holds(ITEM);
  }
  __device__ bool holds(int item) const { return static_cast<unsigned>(at + item * THREADS) < count; }
  // Where one is, all are.
  __device__ bool aligned() const { return ALIGNED || reinterpret_cast<unsigned long long>(p) % 16 == 0; }
};

template <bool ALIGNED>
struct Slice {
  const Storage* row_x;
  Storage* row_y;
  int start;       // elements of the row before vector number 0; negative where others' vectors precede the row
  int lead;        // vectors that precede the slice's
  unsigned count;  // of the slice's vectors
  int before;      // elements before the row's vectors, where the slice has them
  int after, end;  // the row's elements from `after` to `end` are those after its vectors, where the slice has them

  // As in Deal. Without elements where row r is beyond the matrix. `slots`: of the block, for vectors; they matter
  // where rows are taken by lines.
  template <typename Parts>
  __device__ Slice(const Storage* x, Storage* y, long long r, unsigned part, Parts parts, long long M, long long N,
                   int slots = 0)
      : row_x(row_start(x, r, N)), row_y(row_start(y, r, N)), lead(0) {
    const int elements = r < M ? static_cast<int>(N) : 0;
    const int skew = skew_of(row_x);
    const int to_vector = ALIGNED || skew == 0 ? 0 : min(elements, kVector - skew);
    const unsigned vectors = static_cast<unsigned>(elements - to_vector) / kVector;
    const Deal dealt(vectors, part, parts);
    count = dealt.count;
    start = to_vector + static_cast<int>(dealt.first) * kVector;
    if (BY_LINES && !ALIGNED && N % kVector != 0 && count > THREADS) {
      const int in_line = skew_of(row_x + start, kLineVectors) / kVector;
      if (in_line + static_cast<int>(count) <= slots) lead = in_line;
      start -= lead * kVector;
    }
    before = part == 0 ? to_vector : 0;
    end = elements;
    after = part + 1 == parts ? to_vector + static_cast<int>(vectors) * kVector : end;
  }

  // Of the thread's element beside the vectors, its number in the row; -1: it has none.
  __device__ int edge() const {
    const int number = edge_number();
    const int at = number < kVector ? number : after + number - kVector;
    return may_have_edge() && at < (number < kVector ? before : end) ? at : -1;
  }

  // Whether the thread is one of those that may have such an element, and its number among them.
  __device__ static bool may_have_edge() { return !ALIGNED && edge_number() >= 0; }
  __device__ static int edge_number() { return static_cast<int>(threadIdx.x) - (THREADS - kEdgeThreads); }
};

// Of the thread's vectors from number `first` on.
template <bool ALIGNED>
__device__ inline Reach<const Storage*, ALIGNED> loads_of(const Slice<ALIGNED>& slice, int first) {
  return {slice.row_x + slice.start, first, slice.lead, slice.count};
}
template <bool ALIGNED>
__device__ inline Reach<Storage*, ALIGNED> stores_of(const Slice<ALIGNED>& slice, int first) {
  return {slice.row_y + slice.start, first, slice.lead, slice.count};
}
template <bool ALIGNED>
__device__ inline Reach<const Storage*, ALIGNED> loads_of(const Slice<ALIGNED>& slice) {
  return loads_of(slice, static_cast<int>(thread_id()));
}
// Where nothing else parts the code, what follows from the thread's number would be kept from the loads on.
template <bool ALIGNED>
__device__ inline Reach<Storage*, ALIGNED> stores_of(const Slice<ALIGNED>& slice) {
  return stores_of(slice, static_cast<int>(ALIGNED ? thread_id_anew() : thread_id()));
}
