#include "runtimes/llamacpp/ggml/graph.h"

#include <algorithm>

namespace vramfit::llamacpp::ggml {

void Graph::clear() {
  nodes.clear();
  leafs.clear();
  uses.clear();
  visited_.clear();
}

void Graph::expand(Tensor* tensor) { visit(tensor); }

// ggml_visit_parents_graph. A layer's sources are in the graph before the next layer is built, so
// that this goes no deeper than a layer.
void Graph::visit(Tensor* tensor) {
  if (tensor->id >= visited_.size()) {
    const std::size_t size = std::max<std::size_t>(2 * visited_.size(), tensor->id + 1);
    visited_.resize(size);
    uses.resize(size);
  }
  if (visited_[tensor->id]) return;
  visited_[tensor->id] = true;
  for (Tensor* source : tensor->used_sources()) {
    if (source == nullptr) continue;
    visit(source);
    ++uses[source->id];
  }
  (tensor->op == Op::None ? leafs : nodes).push_back(tensor);
}

}  // namespace vramfit::llamacpp::ggml
