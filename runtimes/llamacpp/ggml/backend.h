#pragma once

#include <cstdint>
#include <vector>

#include "runtimes/llamacpp/ggml/tensor.h"

namespace vramfit::llamacpp::ggml {

/// What runs ops: ggml_backend with its device and buffer type.
struct Backend {
  bool cuda = false;           ///< else the CPU
  int compute_capability = 0;  ///< 890: of CUDA, times 100 as ggml counts
  int multiprocessors = 0;     ///< which temporary buffers depend on, and no other size
};

/// The scheduler's list: GPUs in order, the CPU last (llama_context's constructor).
using Backends = std::vector<Backend>;

inline BackendId cpu_of(const Backends& backends) {
  return static_cast<BackendId>(backends.size() - 1);
}

/// ggml_backend_supports_op of backend `id`.
bool supports_op(const Backends& backends, BackendId id, const Tensor& op);

/// Whether the GPU takes an op whose weights are on the host: ggml_backend_offload_op.
bool offloads(const Tensor& op);

/// What an element of memory begins at: ggml_backend_buft_get_alignment. Bytes.
std::uint64_t alignment(const Backend& backend);

/// ggml_backend_buft_get_alloc_size.
std::uint64_t alloc_size(const Backend& backend, const Tensor& tensor);

}  // namespace vramfit::llamacpp::ggml
