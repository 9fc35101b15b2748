#pragma once

#include <cstdint>

#include "kernels/cuda/base/kernel.cuh"

// Barriers in shared memory that count bytes as well (PTX ISA 8.0, "mbarrier"), from sm_90 on.

namespace vramfit::gpu {

__device__ inline void make_barrier(std::uint64_t& barrier, int arrivals) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)),
               "r"(arrivals));
#endif
}

/// Barriers that the thread made are seen by the cluster.
__device__ inline void show_barriers() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

__device__ inline void arrive(std::uint64_t& barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier))
               : "memory");
#endif
}

/// Arrives, and has the barrier wait for as many bytes.
__device__ inline void expect_bytes(std::uint64_t& barrier, int bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)),
      "r"(bytes)
      : "memory");
#endif
}

/// Until the barrier's phase of that parity has ended.
__device__ inline void wait(std::uint64_t& barrier, unsigned parity) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n"
      "  .reg .pred ended;\n"
      "again:\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
      "  @!ended bra again;\n"
      "}" ::"r"(shared_address(&barrier)),
      "r"(parity)
      : "memory");
#endif
}

}  // namespace vramfit::gpu
