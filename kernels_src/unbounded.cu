// unbounded: any M and any N.
// One block per row, and a block walks over rows where the grid is shorter than M; two scans: (m, d) with a compensated
// sum, then output. Each scan peels the elements before the input's next 16-byte boundary, takes 16-byte vectors from
// there, four per thread in flight, and ends with what is less than a vector; outputs at another alignment are stored
// one by one. 64-bit indices throughout. Reads 2 and writes 1 element per element. grid.x = min(M, 2^31 - 1).
#include "common/compensated.cuh"

constexpr unsigned kInFlight = 4;

// head elements, then vectors from the first 16-byte boundary, then the rest.
struct RowSplit {
  long long head, vectors, tail_start, N;

  __device__ RowSplit(const Storage* in, long long n) : N(n) {
    head = (kVector - skew_of(in)) % kVector;
    if (head > N) head = N;
    vectors = (N - head) / kVector;
    tail_start = head + kVector * vectors;
  }

  // The elements outside the vectors, fewer than two vectors: f(i) for those that belong to this thread.
  template <typename F>
  __device__ void edges(F f) const {
    if (threadIdx.x < head) f(static_cast<long long>(threadIdx.x));
    const long long i = tail_start + threadIdx.x;
    if (threadIdx.x < kVector && i < N) f(i);
  }
};

// Calls f(k, vectors k, k + THREADS, ...) with kInFlight loads issued before the first is used, then f with one at a
// time.
template <typename F>
__device__ void scan_in_flight(const uint4* in, long long vectors, F f) {
  long long k = threadIdx.x;
  for (; k + (kInFlight - 1) * THREADS < vectors; k += kInFlight * THREADS) {
    uint4 v[kInFlight];
#pragma unroll
    for (unsigned i = 0; i < kInFlight; ++i) v[i] = in[k + i * THREADS];
    f(k, v);
  }
  for (; k < vectors; k += THREADS) {
    const uint4 v[1] = {in[k]};
    f(k, v);
  }
}

struct Accumulate {
  CompensatedState& partial;

  template <unsigned COUNT>
  __device__ void operator()(long long, const uint4 (&v)[COUNT]) const {
    partial.update(v);
  }
};

template <bool VECTOR_STORE>
struct Write {
  Storage* out;
  float m, scale;

  template <unsigned COUNT>
  __device__ void operator()(long long k, const uint4 (&raw)[COUNT]) const {
#pragma unroll
    for (unsigned i = 0; i < COUNT; ++i) {
      const long long vector = k + i * THREADS;
      float v[kVector];
      unpack(raw[i], v);
#pragma unroll
      for (int j = 0; j < kVector; ++j) v[j] = accurate_exponential(v[j] - m) * scale;
      if (VECTOR_STORE) {
        reinterpret_cast<uint4*>(out)[vector] = pack(v);
      } else {
#pragma unroll
        for (int j = 0; j < kVector; ++j) out[kVector * vector + j] = Type::store(v[j]);
      }
    }
  }
};

extern "C" __global__ void __launch_bounds__(THREADS)
    unbounded(const Storage* x, Storage* y, long long M, long long N) {
  __shared__ SharedStates shared;
  for (long long row = blockIdx.x; row < M; row += gridDim.x) {
    const Storage* in = row_start(x, row, N);
    Storage* out = row_start(y, row, N);
    const RowSplit split(in, N);
    const uint4* body = reinterpret_cast<const uint4*>(in + split.head);

    CompensatedState partial;
    split.edges([&](long long i) { partial.update(Type::load(in[i])); });
    scan_in_flight(body, split.vectors, Accumulate{partial});
    const State s = block_merge(partial.state(), shared);

    const float scale = 1.0f / s.d;
    split.edges([&](long long i) { out[i] = Type::store(accurate_exponential(Type::load(in[i]) - s.m) * scale); });
    Storage* body_out = out + split.head;
    if ((reinterpret_cast<unsigned long long>(body_out) & 15) == 0) {
      scan_in_flight(body, split.vectors, Write<true>{body_out, s.m, scale});
    } else {
      scan_in_flight(body, split.vectors, Write<false>{body_out, s.m, scale});
    }
    __syncthreads();  // every thread has read the row's state before the next row overwrites it
  }
}
