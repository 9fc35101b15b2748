#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/base/barrier.cuh"
#include "kernels/cuda/base/error.h"

// What blocks of a cluster have in common, from sm_90 on: barriers and each other's shared memory.

namespace vramfit::gpu {

/// Whether the kernel may run in clusters: the GPU has them, and what runs on it was compiled for
/// such GPUs.
template <typename... Parameters>
bool has_clusters(void (*kernel)(Parameters...)) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), "clusters");
  return attributes.ptxVersion >= 90;
}

/// Waits for all threads of the cluster's blocks, whose shared memory is then as they left it.
__device__ inline void cluster_barrier() {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
#endif
}

/// Four bytes of what another block of the cluster has where this one has `shared`.
__device__ inline std::uint32_t word_of_block(const void* shared, int block) {
  std::uint32_t word = 0;
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n"
      "  .reg .b32 there;\n"
      "  mapa.shared::cluster.u32 there, %1, %2;\n"
      "  ld.shared::cluster.u32 %0, [there];\n"
      "}"
      : "=r"(word)
      : "r"(shared_address(shared)), "r"(block)
      : "memory");
#endif
  return word;
}

/// The same of 16 bytes.
__device__ inline uint4 vector_of_block(const void* shared, int block) {
  uint4 vector = {};
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n"
      "  .reg .b32 there;\n"
      "  mapa.shared::cluster.u32 there, %4, %5;\n"
      "  ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [there];\n"
      "}"
      : "=r"(vector.x), "=r"(vector.y), "=r"(vector.z), "=r"(vector.w)
      : "r"(shared_address(shared)), "r"(block)
      : "memory");
#endif
  return vector;
}

/// Says that the thread's block runs, to those who wait for that. Orders no memory.
__device__ inline void tell_cluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}
/// Until all blocks have told.
__device__ inline void wait_for_cluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/// Counts what blocks send into this one's shared memory: a barrier of the cluster would wait for
/// all that their threads have ever written.
struct Inbox {
  std::uint64_t barrier;

  /// One thread, before tell_cluster. `bytes`: that will come.
  __device__ void open(int bytes) {
    make_barrier(barrier, 1);
    show_barriers();
    expect_bytes(barrier, bytes);
  }
  /// Sends a value, after wait_for_cluster, to what `block` has where this one has `to`.
  __device__ void send(float& to, int block, float value) {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{\n"
        "  .reg .b32 there, counted;\n"
        "  mapa.shared::cluster.u32 there, %0, %2;\n"
        "  mapa.shared::cluster.u32 counted, %1, %2;\n"
        "  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [there], %3, [counted];\n"
        "}" ::"r"(shared_address(&to)),
        "r"(shared_address(&barrier)), "r"(block), "f"(value)
        : "memory");
#endif
  }
  /// Until all has come; no block may end before. The wait acquires in the block's scope, whose own
  /// shared memory has what came.
  __device__ void wait() { gpu::wait(barrier, 0); }
};

}  // namespace vramfit::gpu
