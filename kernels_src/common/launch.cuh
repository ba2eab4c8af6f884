// The edges of a launch that overlaps with its neighbours in a stream (programmatic dependent launch, from sm_90 on;
// the host asks for it). Elsewhere both are nothing.
#pragma once

// Before the first access to memory: what earlier kernels wrote is complete and visible from here on.
__device__ inline void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Once every block has come here, or ended, the next kernel's blocks take the places that become free. They wait in
// their turn, so that this one may go on writing.
__device__ inline void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
