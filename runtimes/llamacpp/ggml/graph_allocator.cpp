#include "runtimes/llamacpp/ggml/graph_allocator.h"

namespace vramfit::llamacpp::ggml {
namespace {

// ggml_op_can_inplace.
bool can_inplace(Op op) {
  switch (op) {
    case Op::Fill:
    case Op::Scale:
    case Op::Add:
    case Op::AddId:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::Unary:
    case Op::Rope:
    case Op::RmsNorm:
    case Op::Clamp:
    case Op::SoftMax:
      return true;
    default:
      return false;
  }
}

}  // namespace

// ggml_gallocr_alloc_graph_impl.
std::vector<std::uint64_t> GraphAllocator::reserve(const PlacedGraph& graph, std::uint32_t end_id) {
  state_.assign(end_id, State{});
  buffers_.clear();
  for (const Backend& backend : backends_) buffers_.emplace_back(alignment(backend));

  for (const Placed& leaf : graph.leafs) allocate(*leaf.tensor, leaf.backend);
  count(graph);
  for (const auto& [node, backend] : graph.nodes) {
    for (Tensor* source : node->used_sources()) {
      if (source != nullptr) allocate(*source, backend);
    }
    allocate(*node, backend);
    for (Tensor* source : node->used_sources()) {
      if (source != nullptr) release(*source);
    }
  }

  std::vector<std::uint64_t> sizes;
  sizes.reserve(buffers_.size());
  for (const FreeBlocks& buffer : buffers_) sizes.push_back(buffer.max_size());
  return sizes;
}

// Uses of each tensor, and graph inputs first, so that nothing overwrites them. A view without an
// op is the scheduler's, which only holds its source.
void GraphAllocator::count(const PlacedGraph& graph) {
  for (const auto& [node, backend] : graph.nodes) {
    if (node->is_view() && node->op != Op::None) ++state(*node->view_of).views;
    if (node->input) allocate(*node, backend);
    for (Tensor* source : node->used_sources()) {
      if (source == nullptr) continue;
      ++state(*source).children;
      if (source->input) allocate(*source, backend);
    }
  }
}

// ggml_gallocr_allocate_node.
void GraphAllocator::allocate(Tensor& node, BackendId backend) {
  State& own = state(node);
  if (node.buffer != kNoBackend || own.allocated || node.is_view()) return;
  own.allocated = true;
  if (can_inplace(node.op) && reuse_source(node)) return;
  own.backend = backend;
  own.offset = buffers_[static_cast<std::size_t>(backend)].allocate(size_of(node));
}

// Takes the memory of a source that nobody else needs. A view is never allocated itself, so that
// the memory behind it is not taken.
bool GraphAllocator::reuse_source(Tensor& node) {
  for (Tensor* source : node.used_sources()) {
    if (source == nullptr || source->output || !same_layout(node, *source)) continue;
    State& from = state(*source);
    if (!from.allocated || from.children != 1 || from.views != 0) continue;
    State& own = state(node);
    own.backend = from.backend;
    own.offset = from.offset;
    from.allocated = false;
    buffers_[static_cast<std::size_t>(from.backend)].free_behind(from.offset, size_of(*source),
                                                                 size_of(node));
    return true;
  }
  return false;
}

// A use of `source` is over.
void GraphAllocator::release(Tensor& source) {
  State& used = state(source);
  --used.children;
  if (used.children != 0 || used.views != 0) return;
  if (!source.is_view()) {
    if (used.allocated) free(source);
    return;
  }
  State& viewed = state(*source.view_of);
  --viewed.views;
  if (viewed.views == 0 && viewed.children == 0 && viewed.allocated) free(*source.view_of);
}

// ggml_gallocr_free_node.
void GraphAllocator::free(Tensor& tensor) {
  if (tensor.output) return;
  State& own = state(tensor);
  buffers_[static_cast<std::size_t>(own.backend)].free(own.offset, size_of(tensor));
  own.allocated = false;
}

std::uint64_t GraphAllocator::size_of(const Tensor& tensor) {
  return alloc_size(backends_[static_cast<std::size_t>(state(tensor).backend)], tensor);
}

}  // namespace vramfit::llamacpp::ggml
