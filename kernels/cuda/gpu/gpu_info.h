#pragma once

#include <cstdint>
#include <string>

#include "model/ops/arch.h"

namespace vramfit {

/// What a run's figures depend on beside the program.
struct GpuInfo {
  std::string name;    ///< "NVIDIA H200"
  std::string cuda;    ///< "13.0", the runtime's
  std::string cublas;  ///< "13.1.0"
  std::string cudnn;   ///< "9.19.0", or "none"
  std::string pci_bus_id;
  Arch arch;
  int multiprocessors = 0;
};

/// Bytes that the current GPU has, as cudaMemGetInfo tells a process with a context.
struct DeviceMemory {
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used() const { return total - free; }
};

/// A GPU answers.
bool gpu_present() noexcept;
int gpu_count() noexcept;

/// Of a GPU by its index as CUDA counts them, which CUDA_VISIBLE_DEVICES changes. Make no context.
/// Throw CudaError where there is no such GPU.
Arch gpu_arch(int device = 0);
GpuInfo gpu_info(int device = 0);

/// Makes a GPU the current one of this thread, and the process's context on it.
void select_gpu(int device);

/// Of the current GPU. Makes the process's context, where there is none yet.
DeviceMemory device_memory();

}  // namespace vramfit
