// Bulk copies from global to shared memory (sm_90), which complete on a barrier in shared memory: one instruction of
// one thread for kilobytes, and no registers.
#pragma once

#include "common/async_copy.cuh"

// One phase after another, each over when as many threads have arrived as init() names, and the bytes that arm() names.
struct CopyBarrier {
  unsigned long long word;

  __device__ void init(unsigned threads) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(&word)), "r"(threads) : "memory");
  }

  // What the thread did so far comes before what follows a wait().
  __device__ void arrive() {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(&word)) : "memory");
  }

  // arrive(), and that so many bytes are to come.
  __device__ void arm(unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(&word)), "r"(bytes)
                 : "memory");
  }

  __device__ void wait(unsigned parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}" ::"r"(shared_address(&word)),
        "r"(parity)
        : "memory");
  }
};

// What was written to shared memory, by this thread or before a barrier, comes before the copies that it asks for from
// here on.
__device__ inline void order_before_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// What init() wrote is seen by the copies, too.
__device__ inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  order_before_copies();
}

// `bytes` is a multiple of 16, as are the addresses. STREAMED: what is read is marked as first to leave the caches.
template <bool STREAMED = false>
__device__ inline void bulk_copy(void* to, const void* from, unsigned bytes, CopyBarrier* barrier) {
  const unsigned place = shared_address(to), counter = shared_address(&barrier->word);
  if constexpr (STREAMED) {
    unsigned long long first_to_leave;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first_to_leave));
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::
            "r"(place),
        "l"(from), "r"(bytes), "r"(counter), "l"(first_to_leave)
        : "memory");
  } else {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(place),
                 "l"(from), "r"(bytes), "r"(counter)
                 : "memory");
  }
}
