#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/ops/arch.h"
#include "model/parallel/mesh.h"

namespace vramfit {

/// What driver and libraries take of a card where PyTorch runs, outside its allocator. Bytes:
/// constants of a card, driver and build of PyTorch.
struct LibrarySizes {
  std::uint64_t context = 0;        ///< with PyTorch's kernels, after one tiny tensor
  std::uint64_t blas = 0;           ///< cuBLAS's handle on the main thread, first kernels
  std::uint64_t backward_blas = 0;  ///< the autograd thread's own handle
  std::uint64_t attention = 0;      ///< fused attention in 16 bits: cuDNN's or flash's code
  std::uint64_t backward_attention = 0;
  std::uint64_t streams = 0;  ///< the pool that is made with the first one beside the default
};

/// What NCCL takes of each of several GPUs. Bytes.
struct NcclSizes {
  std::uint64_t process_group = 0;  ///< under PyTorch, as it is made
  std::uint64_t collectives = 0;    ///< channels and buffers, as something is first communicated
  std::uint64_t connected = 0;  ///< of a communicator that makes all connections at once, as ours
  std::uint64_t staged = 0;     ///< likewise a pipeline's, of few channels
};

/// What driver and libraries take of a card beside what a run reserves. Bytes.
struct Overhead {
  std::uint64_t driver_reserved = 0;  ///< nvidia-smi's total less cudaMemGetInfo's
  std::uint64_t context = 0;          ///< a bare CUDA context
  std::uint64_t libraries = 0;        ///< handles of cuBLASLt and cuDNN, code loaded as it is used
  std::string source;  ///< "measured …", or "assumed: …" where it is another card's
  /// Context and libraries where a process runs PyTorch; absent where nobody measured them.
  std::optional<LibrarySizes> pytorch = {};
  std::optional<NcclSizes> nccl = {};
  std::uint64_t range = 0;        ///< what it may be off by, either way, where it was measured
  std::string assumed_from = {};  ///< the card it was measured on, "NVIDIA H200"; empty: this one

  /// The same where the process is one of these that train by this project's own step. What NCCL
  /// takes has been measured wherever libraries have.
  Overhead of_rank(const Mesh& mesh) const {
    Overhead overhead = *this;
    const NcclSizes sizes = nccl.value_or(NcclSizes{});
    if (!mesh.alone()) overhead.libraries += mesh.pipelined() ? sizes.staged : sizes.connected;
    return overhead;
  }

  std::uint64_t total() const { return driver_reserved + context + libraries; }
};

/// What a card tells the rules of a runtime.
struct Gpu {
  Arch arch;
  int multiprocessors = 0;
  Overhead overhead;
};

}  // namespace vramfit
