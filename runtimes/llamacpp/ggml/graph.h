#pragma once

#include <cstdint>
#include <vector>

#include "runtimes/llamacpp/ggml/tensor.h"

namespace vramfit::llamacpp::ggml {

/// ggml_cgraph: what is computed, in order, of what is there before.
struct Graph {
  std::vector<Tensor*> nodes;
  std::vector<Tensor*> leafs;
  std::vector<std::int32_t> uses;  ///< by id: how many sources of nodes it is

  /// Appends what `tensor` needs and is not there yet, sources first, from the left:
  /// ggml_build_forward_expand.
  void expand(Tensor* tensor);
  void clear();

 private:
  void visit(Tensor* tensor);

  std::vector<bool> visited_;  // by id
};

}  // namespace vramfit::llamacpp::ggml
