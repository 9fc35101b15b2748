#pragma once

#include <cstdint>
#include <optional>

namespace vramfit {

/// What driver and libraries take of a card before anything runs, in bytes.
struct CudaOverhead {
  /// What nvidia-smi counts and cudaMemGetInfo does not; absent without NVML.
  std::optional<std::uint64_t> driver_reserved;
  std::uint64_t context;
  std::uint64_t cublaslt;  ///< its handle, and what is loaded for it
  std::uint64_t cudnn;     ///< likewise; 0 without cuDNN
};

/// Measured step by step, as each is made. Only right in a process that has not used the GPU yet,
/// on a card that no other process uses.
CudaOverhead measure_overhead(int device = 0);

}  // namespace vramfit
