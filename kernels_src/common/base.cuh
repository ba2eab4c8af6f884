// Types and constants shared by every kernel. NVRTC finds no header of the CUDA Toolkit at run time, so nothing is
// included.
#pragma once

constexpr unsigned kWarp = 32;
constexpr int kWidth = static_cast<int>(kWarp);
constexpr unsigned kFullMask = 0xffffffffu;
constexpr float kFloatMax = 3.402823466e38f;  // FLT_MAX
constexpr unsigned kWarps = THREADS / kWarp;  // of the block

__device__ inline unsigned lane_id() {
  return threadIdx.x % kWarp;
}
__device__ inline unsigned warp_id() {
  return threadIdx.x / kWarp;
}

// blockIdx.x, read where this is written: the compiler knows nothing of what follows from it.
__device__ inline unsigned block_id() {
  unsigned id;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(id));
  return id;
}

// threadIdx.x in the same way.
__device__ inline unsigned thread_id() {
  unsigned id;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(id));
  return id;
}

// The same by an instruction that stays where this is written, by whole warps: what follows from the number is worked
// out there, and not kept from before.
__device__ inline unsigned thread_id_anew() {
  unsigned id;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(id) : "r"(threadIdx.x), "r"(lane_id()));
  return id;
}

// Start of row r. Row bases are 64-bit: r * N passes 2^32 for matrices of a few gigabytes.
template <typename T>
__device__ inline T* row_start(T* matrix, long long r, long long N) {
  return matrix + r * N;
}
