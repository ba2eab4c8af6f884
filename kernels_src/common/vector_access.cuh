// 16-byte accesses to global memory, OFFSET elements after p. With STREAM they are marked as first to leave the caches
// where `streamed` says so: each is made once. The offset is an immediate of the instruction; added to p beforehand,
// each of a thread's addresses would live in registers of its own. A load is volatile, so that it stays behind the wait
// for the previous kernel.
#pragma once

#include "common/element.cuh"

template <int OFFSET = 0>
__device__ inline uint4 load_vector(const Storage* p, bool streamed = true) {
  uint4 v;
  if (STREAM && streamed) {
    asm volatile("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4 + %5];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p), "n"(OFFSET * kElementBytes));
  } else {
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4 + %5];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p), "n"(OFFSET * kElementBytes));
  }
  return v;
}

template <int OFFSET = 0>
__device__ inline void store_vector(Storage* p, uint4 v, bool streamed = true) {
  if (STREAM && streamed) {
    asm volatile("st.global.cs.v4.u32 [%0 + %1], {%2, %3, %4, %5};" ::"l"(p), "n"(OFFSET * kElementBytes), "r"(v.x),
                 "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
  } else {
    asm volatile("st.global.v4.u32 [%0 + %1], {%2, %3, %4, %5};" ::"l"(p), "n"(OFFSET * kElementBytes), "r"(v.x),
                 "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
  }
}

// One of some vectors by a number that is not known when compiled. An array in registers has no addresses.
template <int COUNT>
__device__ inline uint4 item_of(const uint4 (&vectors)[COUNT], int number) {
  uint4 r = vectors[0];
#pragma unroll
  for (int i = 1; i < COUNT; ++i) {
    if (i == number) r = vectors[i];
  }
  return r;
}
