#pragma once

#include <cstdint>
#include <vector>

#include "runtimes/llamacpp/base/context_params.h"
#include "runtimes/llamacpp/ggml/backend.h"
#include "runtimes/llamacpp/graphs/weights.h"

namespace vramfit::llamacpp {

/// Of the widest layer: n_embd_v_gqa_max.
std::int64_t widest_v(const Hparams& hparams);
/// Elements of a recurrent layer's states for one sequence: n_embd_r, n_embd_s.
std::int64_t embd_r(const Hparams& hparams);
std::int64_t embd_s(const Hparams& hparams);

/// Keys and values of layers: llama_kv_cache, as a graph of the worst case sees it (init_full).
struct KvCache {
  struct Layer {
    ggml::Tensor* k = nullptr;
    ggml::Tensor* v = nullptr;  ///< none under latent attention
  };

  std::vector<Layer> layers;  ///< by layer; of those that another cache has, empty
  std::int64_t cells = 0;     ///< of a stream
  std::int64_t streams = 1;
  bool transposed = false;  ///< values, where flash attention is off from the start
  /// Of the Hadamard matrices that turn what a quantised cache takes; 0: none.
  std::int64_t rotation_k = 0;
  std::int64_t rotation_v = 0;
};

/// All that a context keeps between batches: llama_kv_cache_iswa, llama_memory_hybrid.
struct Memory {
  KvCache base;
  KvCache sliding;  ///< of layers that look back a window
  bool slides = false;
  std::vector<ggml::Tensor*> r;  ///< by layer: what a convolution keeps
  std::vector<ggml::Tensor*> s;  ///< by layer: a recurrent state
};

struct MemoryBytes {
  std::uint64_t all = 0;
  std::uint64_t states = 0;  ///< of recurrent layers
};

/// What its buffers take on each backend: llama_memory_i::memory_breakdown.
std::vector<MemoryBytes> bytes(const Memory& memory, const ggml::Backends& backends);

/// What lies where a layer's device is, or, unless caches are offloaded, on the host.
Memory make_memory(const Hparams& hparams, const ContextOptions& options,
                   const ContextParams& params, const Residence& residence, ggml::BackendId host,
                   ggml::Ops& ops);

}  // namespace vramfit::llamacpp
