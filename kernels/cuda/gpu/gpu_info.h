#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/gpu/nvml.h"
#include "model/ops/arch.h"

namespace vramfit {

/// What a run's figures depend on beside the program.
struct GpuInfo {
  std::string name;    ///< "NVIDIA H200"
  std::string driver;  ///< "580.159.04"; where NVML does not say: the CUDA version it is for
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

/// The card's memory as nvidia-smi shows it; absent without NVML. Makes no context.
std::optional<CardMemory> card_memory(int device = 0);

/// Processes that have memory of the GPU, this one left out. Makes no context: asked before there
/// is one, all of them are others even where a container hides which process this is.
std::vector<GpuProcess> other_processes(int device = 0);

}  // namespace vramfit
