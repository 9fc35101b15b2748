#pragma once

#include <algorithm>

#include "kernels/cuda/memory/pinned_memory.h"
#include "kernels/cuda/memory/virtual_memory.h"
#include "kernels/host/host_memory.h"
#include "model/memory/host_memory.h"
#include "tests/kernels/cuda/support/gpu.h"

namespace vramfit {

/// Bytes that a test's pool may map: what is free, less what libraries may still want.
inline std::uint64_t free_capacity() {
  constexpr std::uint64_t kForLibraries = std::uint64_t{2} << 30;
  const std::uint64_t free = device_memory().free;
  return free < kForLibraries ? 0
                              : (free - kForLibraries) / Pool::kGranularity * Pool::kGranularity;
}

/// Everything that a model on the GPU needs beside the device, set up as a program would.
struct GpuRun {
  explicit GpuRun(std::uint64_t capacity = free_capacity())
      : source(capacity),
        pool(source),
        ledger(pool),
        host_source(available_host_memory()),
        host(host_source, ledger) {}

  CudaSource source;
  Pool pool;
  Ledger ledger;
  PinnedSource host_source;
  HostMemory host;
};

}  // namespace vramfit
