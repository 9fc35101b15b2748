#pragma once

#include <cuda_runtime.h>

namespace vramfit::gpu {

/// Waits for all blocks of the kernel, all of which must be on the GPU at once: what they wrote
/// before is there after. `arrivals` is 0 before the first such kernel and as good as 0 after each:
/// a round adds 2^31 in all, and is over once the highest bit has changed.
__device__ inline void wait_for_grid(unsigned* arrivals) {
  constexpr unsigned kRound = 0x80000000U;
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned own = blockIdx.x == 0 ? kRound - (gridDim.x - 1) : 1;
    unsigned before = 0;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(arrivals), "r"(own)
                 : "memory");
    unsigned now = before;
    while (((before ^ now) & kRound) == 0) {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(arrivals) : "memory");
    }
  }
  __syncthreads();
}

}  // namespace vramfit::gpu
