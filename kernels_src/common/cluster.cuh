// A thread-block cluster (sm_90): states of its blocks exchanged through distributed shared memory.
#pragma once

#include "common/async_copy.cuh"
#include "common/state.cuh"

__device__ inline unsigned address_in_block(const void* p, unsigned rank) {
  unsigned address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(p)), "r"(rank));
  return address;
}

__device__ inline void arrive_in_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

__device__ inline void wait_for_cluster() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Receives one state from each of PARTS blocks, once. init() is by one thread, before the cluster's first barrier.
struct Mailbox {
  float2 states[PARTS];
  unsigned long long barrier;

  __device__ void init() {
    const unsigned at = shared_address(&barrier);
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at), "n"(PARTS * 8) : "memory");
  }

  // By the first PARTS lanes of a warp, each to one block: the write itself is counted there, and needs no barrier.
  __device__ void send(float2 state, unsigned own_rank) {
    const unsigned to = address_in_block(&states[own_rank], lane_id());
    const unsigned counter = address_in_block(&barrier, lane_id());
    const unsigned long long both =
        static_cast<unsigned long long>(__float_as_uint(state.y)) << 32 | __float_as_uint(state.x);
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u64 [%0], %1, [%2];" ::"r"(to), "l"(both),
                 "r"(counter)
                 : "memory");
  }

  __device__ void wait() {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], 0;\n"
        "@!done bra again;\n"
        "}" ::"r"(shared_address(&barrier))
        : "memory");
  }
};
