#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/base/early_starts.h"
#include "kernels/cuda/base/error.h"

// The few things that C++ has no words for: launches, shared memory sized at launch, named
// barriers, asynchronous copies, kernels that begin before those that they wait for have ended.

namespace vramfit::gpu {

struct Launch {
  const char* name;  ///< of the op, for error messages
  dim3 grid;
  dim3 block;
  cudaStream_t stream;
  std::size_t shared_bytes = 0;
  bool waits = false;  ///< by itself, in all its threads: wait_for_previous_kernels
  int cluster = 1;     ///< blocks that use each other's shared memory, from sm_90 on
};

/// A launch as CUDA is told of it.
class LaunchConfig {
 public:
  explicit LaunchConfig(const Launch& launch) {
    config_.gridDim = launch.grid;
    config_.blockDim = launch.block;
    config_.dynamicSmemBytes = launch.shared_bytes;
    config_.stream = launch.stream;
    config_.attrs = attributes_;
    if (launch.waits && EarlyStarts::allowed()) {
      cudaLaunchAttribute& early = attributes_[config_.numAttrs++];
      early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      early.val.programmaticStreamSerializationAllowed = 1;
    }
    if (launch.cluster > 1) {
      cudaLaunchAttribute& cluster = attributes_[config_.numAttrs++];
      cluster.id = cudaLaunchAttributeClusterDimension;
      cluster.val.clusterDim = {static_cast<unsigned>(launch.cluster), 1, 1};
    }
  }
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  const cudaLaunchConfig_t* get() const { return &config_; }

 private:
  cudaLaunchAttribute attributes_[2] = {};
  cudaLaunchConfig_t config_{};
};

/// A block gets 48 KiB without asking, of which the kernel's own variables take theirs.
template <typename... Parameters>
void allow_shared(const Launch& launch, void (*kernel)(Parameters...)) {
  if (launch.shared_bytes == 0) return;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(launch.shared_bytes)),
        launch.name);
}

/// Starts the kernel; throws where it cannot be.
template <typename... Parameters, typename... Arguments>
void start(const Launch& launch, void (*kernel)(Parameters...), const Arguments&... arguments) {
  allow_shared(launch, kernel);
  check(cudaLaunchKernelEx(LaunchConfig(launch).get(), kernel, Parameters(arguments)...),
        launch.name);
}

/// How many clusters of a launch are on the GPU at once: the multiprocessors that a cluster's
/// blocks are on are neighbours, and their number may leave some over.
template <typename... Parameters>
int active_clusters(const Launch& launch, void (*kernel)(Parameters...)) {
  allow_shared(launch, kernel);
  int clusters = 0;
  check(cudaOccupancyMaxActiveClusters(&clusters, kernel, LaunchConfig(launch).get()), launch.name);
  return clusters;
}

/// The kernel after this one may start, as far as it need not wait.
__device__ inline void start_next_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// What kernels before this one wrote is there. They have waited as well, so that all before them
/// have ended too.
__device__ inline void wait_for_previous_kernels() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// For kernels that read nothing but what others write.
__device__ inline void take_turn() {
  start_next_kernel();
  wait_for_previous_kernels();
}

/// The block's shared memory of Launch::shared_bytes, 16-byte aligned.
template <typename T>
__device__ T* dynamic_shared() {
  extern __shared__ uint4 words[];
  return reinterpret_cast<T*>(words);
}

/// Waits for the `threads` threads of a block that use barrier `id`, 0 to 15, of which 0 is also
/// __syncthreads's.
__device__ inline void named_barrier(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// Counts for the `threads` threads that use barrier `id`, but does not wait for them: those who do
/// see what this thread wrote before.
__device__ inline void arrive_at_barrier(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// As asynchronous copies and matrix loads want it.
__device__ inline unsigned shared_address(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

/// Copies 16 bytes to shared memory while the thread goes on, or zeros where there are none, and
/// brings what is around them into L2, as neighbours are wanted soon. It belongs to the thread's
/// group of copies that the next commit_copies ends.
__device__ inline void copy_async(unsigned to, const void* global, bool there) {
  asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16, %2;" ::"r"(to), "l"(global),
               "r"(there ? 16 : 0)
               : "memory");
}
__device__ inline void copy_async(void* shared, const void* global, bool there = true) {
  copy_async(shared_address(shared), global, there);
}
/// The same of what is read once, and would drive other lines out of L2.
__device__ inline void copy_async_once(unsigned to, const void* global, bool there) {
  std::uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(policy));
  asm volatile(
      "cp.async.cg.shared.global.L2::cache_hint.L2::256B [%0], [%1], 16, %2, %3;" ::"r"(to),
      "l"(global), "r"(there ? 16 : 0), "l"(policy)
      : "memory");
}
/// Copies 4 bytes that others will read as well.
__device__ inline void copy_word_async(unsigned to, const void* global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(global) : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Brings the line that holds the address into L2.
__device__ inline void prefetch(const void* global) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(global));
}

/// Waits for all of the thread's groups but the latest kPending. Its copies are then there for the
/// thread itself; others need a barrier as well.
template <int kPending>
__device__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace vramfit::gpu
