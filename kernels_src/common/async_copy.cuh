// Vectors from global to shared memory, from compute capability 8.0 on past the registers.
#pragma once

#include "common/vector_access.cuh"

// Of something in shared memory, as instructions that name that space take it.
__device__ inline unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

// OFFSET elements after `from`. Complete after wait_for_copies() in the thread that asked. `streamed`: as for
// load_vector(), which it is before sm_80.
template <int OFFSET = 0>
__device__ inline void copy_vector(uint4* to, const Storage* from, [[maybe_unused]] bool streamed = true) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1 + %2], 16;" ::"r"(shared_address(to)), "l"(from),
               "n"(OFFSET * kElementBytes)
               : "memory");
#else
  *to = load_vector<OFFSET>(from, streamed);
#endif
}

__device__ inline void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
