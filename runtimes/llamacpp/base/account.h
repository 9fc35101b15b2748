#pragma once

#include <cstdint>
#include <vector>

namespace vramfit::llamacpp {

/// What one device holds, or the host, as llama_get_memory_breakdown tells it. Bytes.
struct Buffers {
  std::uint64_t model = 0;
  std::uint64_t context = 0;  ///< caches and states
  std::uint64_t compute = 0;
  std::uint64_t states = 0;  ///< of `context`: recurrent layers', which even no_alloc allocates

  std::uint64_t total() const { return model + context + compute; }
};

/// Buffers of a loaded model with its context.
struct Breakdown {
  std::vector<Buffers> gpus;  ///< in order
  /// Of each GPU's temporary buffers (ggml_cuda_pool), which llama.cpp does not tell.
  std::vector<std::uint64_t> pools;
  Buffers host;       ///< pageable: mapped weights, "CPU" buffers
  Buffers pinned;     ///< page-locked: "CUDA_Host"
  bool flash = true;  ///< whether flash attention is used, which `Auto` leaves open
};

}  // namespace vramfit::llamacpp
