// unbounded: any M and any N.
// One block per row, and a block walks over rows where the grid is shorter than M; two scans: (m, d) with a compensated
// sum, then output. Each scan peels up to three elements to the input's next 16-byte boundary, takes float4 from there,
// four per thread in flight, and ends with up to three elements; outputs at another alignment are stored by scalars.
// 64-bit indices throughout. Reads 2 and writes 1 float per element. grid.x = min(M, 2^31 - 1).
#include "common/base.cuh"
#include "common/compensated.cuh"
#include "common/output.cuh"

constexpr unsigned kInFlight = 4;

// head elements, then groups of four from the first 16-byte boundary, then the rest.
struct RowSplit {
  long long head, groups, tail_start, N;

  __device__ RowSplit(const float* in, long long n) : N(n) {
    const unsigned misaligned = static_cast<unsigned>(reinterpret_cast<unsigned long long>(in) & 15) / sizeof(float);
    head = (4 - misaligned) % 4;
    if (head > N) head = N;
    groups = (N - head) / 4;
    tail_start = head + 4 * groups;
  }

  // The at most six elements outside the groups: f(i) for the one that belongs to this thread, if any.
  template <typename F>
  __device__ void edges(F f) const {
    if (threadIdx.x < head) f(static_cast<long long>(threadIdx.x));
    const long long i = tail_start + threadIdx.x;
    if (threadIdx.x < 4 && i < N) f(i);
  }
};

// Calls f(k, groups k, k + THREADS, ...) with kInFlight loads issued before the first is used, then f with one at a
// time.
template <typename F>
__device__ void scan_in_flight(const float4* in, long long groups, F f) {
  long long k = threadIdx.x;
  for (; k + (kInFlight - 1) * THREADS < groups; k += kInFlight * THREADS) {
    float4 v[kInFlight];
#pragma unroll
    for (unsigned i = 0; i < kInFlight; ++i) v[i] = in[k + i * THREADS];
    f(k, v);
  }
  for (; k < groups; k += THREADS) {
    const float4 v[1] = {in[k]};
    f(k, v);
  }
}

struct Accumulate {
  CompensatedState& partial;

  template <unsigned COUNT>
  __device__ void operator()(long long, const float4 (&v)[COUNT]) const {
    partial.update(v);
  }
};

template <bool VECTOR_STORE>
struct Write {
  float* out;
  float m, scale;

  template <unsigned COUNT>
  __device__ void operator()(long long k, const float4 (&v)[COUNT]) const {
#pragma unroll
    for (unsigned i = 0; i < COUNT; ++i) {
      const long long group = k + i * THREADS;
      const float4 r = normalize(v[i], m, scale);
      if (VECTOR_STORE) {
        reinterpret_cast<float4*>(out)[group] = r;
      } else {
        float* p = out + 4 * group;
        p[0] = r.x;
        p[1] = r.y;
        p[2] = r.z;
        p[3] = r.w;
      }
    }
  }
};

extern "C" __global__ void __launch_bounds__(THREADS) unbounded(const float* x, float* y, long long M, long long N) {
  __shared__ SharedStates shared;
  for (long long row = blockIdx.x; row < M; row += gridDim.x) {
    const float* in = row_start(x, row, N);
    float* out = row_start(y, row, N);
    const RowSplit split(in, N);
    const float4* body = reinterpret_cast<const float4*>(in + split.head);

    CompensatedState partial;
    split.edges([&](long long i) { partial.update(in[i]); });
    scan_in_flight(body, split.groups, Accumulate{partial});
    const State s = block_merge(partial.state(), shared);

    const float scale = 1.0f / s.d;
    split.edges([&](long long i) { out[i] = expf(in[i] - s.m) * scale; });
    float* body_out = out + split.head;
    if ((reinterpret_cast<unsigned long long>(body_out) & 15) == 0) {
      scan_in_flight(body, split.groups, Write<true>{body_out, s.m, scale});
    } else {
      scan_in_flight(body, split.groups, Write<false>{body_out, s.m, scale});
    }
    __syncthreads();  // every thread has read the row's state before the next row overwrites it
  }
}
