// States of the parts of a row, exchanged through global memory by blocks that are all on the device. The workspace
// begins with a header; a slot follows for each part.
//
// The word of a slot is a float and, in the upper half, a tag that names the launch: data and flag in one atomic
// access, so that no reader needs a fence or a second access. Tags come from the header's epoch, which the last block
// to leave advances. A slot that was written by an earlier launch, of any kernel, has another tag (until 2^32 launches
// later), and the workspace needs no clearing between launches.
#pragma once

#include "common/state.cuh"

struct Header {
  unsigned epoch;
  unsigned left;  // blocks that have left; 0 between launches
  unsigned next;  // for tickets; 0 between launches
};

struct Slot {
  unsigned long long m, d;
};

constexpr int kHeaderBytes = 128;

__device__ inline Header* header_of(void* workspace) {
  return static_cast<Header*>(workspace);
}

__device__ inline Slot* slots_of(void* workspace) {
  return reinterpret_cast<Slot*>(static_cast<char*>(workspace) + kHeaderBytes);
}

// The first tag of this launch, which may use kMostTags; never 0, which is that of memory that no launch has written.
constexpr unsigned kMostTags = 1u << 24;

__device__ inline unsigned launch_tag(void* workspace) {
  unsigned epoch;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(epoch) : "l"(&header_of(workspace)->epoch) : "memory");
  return epoch > 0xffffffffu - kMostTags ? 1 : epoch + 1;
}

__device__ inline void publish(Slot* slot, float2 state, unsigned tag) {
  const unsigned long long upper = static_cast<unsigned long long>(tag) << 32;
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(slot), "l"(upper | __float_as_uint(state.x)),
               "l"(upper | __float_as_uint(state.y))
               : "memory");
}

__device__ inline Slot read_slot(const Slot* slot) {
  Slot s;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(s.m), "=l"(s.d) : "l"(slot) : "memory");
  return s;
}

__device__ inline bool has_tag(const Slot& s, unsigned tag) {
  return static_cast<unsigned>(s.m >> 32) == tag && static_cast<unsigned>(s.d >> 32) == tag;
}

__device__ inline float2 state_of(const Slot& s) {
  return make_float2(__uint_as_float(static_cast<unsigned>(s.m)), __uint_as_float(static_cast<unsigned>(s.d)));
}

// Waits until the part's state is there.
__device__ inline float2 await(const Slot* slot, unsigned tag) {
  Slot s;
  do {
    s = read_slot(slot);
  } while (!has_tag(s, tag));
  return state_of(s);
}

// By a whole warp: the row's state from its `count` slots.
__device__ inline float2 await_row(const Slot* slots, unsigned count, unsigned tag) {
  float2 state = no_elements();
  if (lane_id() < count) {
    state = await(slots + lane_id(), tag);
#pragma unroll 1
    for (unsigned at = lane_id() + kWarp; at < count; at += kWarp) state = merge(state, await(slots + at, tag));
  }
  __syncwarp();
  return warp_merge(state);
}

// The same where registers are to spare: a lane asks for four slots before it waits for the first.
__device__ inline float2 await_long_row(const Slot* slots, unsigned count, unsigned tag) {
  constexpr int kAtOnce = 4;
  float2 state = no_elements();
#pragma unroll 1
  for (unsigned first = lane_id(); first < count; first += kAtOnce * kWarp) {
    Slot seen[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (first + i * kWarp < count) seen[i] = read_slot(slots + first + i * kWarp);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const unsigned at = first + i * kWarp;
      if (at >= count) break;
      const float2 other = has_tag(seen[i], tag) ? state_of(seen[i]) : await(slots + at, tag);
      state = at == lane_id() ? other : merge(state, other);
    }
  }
  __syncwarp();
  return warp_merge(state);
}

// By one thread of each block, once the block needs no state any more. The last one prepares the next launch.
__device__ inline void leave(void* workspace, unsigned tag) {
  Header* const header = header_of(workspace);
  if (atomicInc(&header->left, gridDim.x - 1) != gridDim.x - 1) return;
  header->next = 0;
  header->epoch = tag;
}
