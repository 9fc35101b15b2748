#pragma once

#include <cstddef>
#include <vector>

#include "runtimes/llamacpp/ggml/graph.h"

namespace vramfit::llamacpp::ggml {

/// Tensors that stay allocated until `until` is computed, since kernels that were fused read them
/// to the end.
struct KeptUntil {
  const Tensor* until;
  std::vector<Tensor*> kept;
};

/// What ggml-cuda fuses of nodes [begin, end), which one GPU computes, and keeps longer for it:
/// the choice of experts and the weighted sum of what they say (ggml_backend_cuda_graph_optimize).
std::vector<KeptUntil> kept_by_fusion(const Graph& graph, std::size_t begin, std::size_t end);

}  // namespace vramfit::llamacpp::ggml
