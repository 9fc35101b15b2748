#include "runtimes/llamacpp/ggml/scheduler.h"

#include <algorithm>
#include <utility>

#include "runtimes/llamacpp/ggml/fusion.h"

namespace vramfit::llamacpp::ggml {
namespace {

constexpr std::size_t kPipelineCopies = 4;  // GGML_SCHED_MAX_COPIES
constexpr std::int32_t kNoCopies = -1;

}  // namespace

void Scheduler::assign(const Tensor& tensor, BackendId backend) {
  assigned_.push_back({tensor.id, backend});
}

PlacedGraph Scheduler::split(Graph& graph, Ops& ops) {
  backend_.assign(ops.end_id(), kNoBackend);
  copies_of_.assign(ops.end_id() * backends_.size(), kNoCopies);
  copies_.clear();
  splits_.clear();
  for (const Assigned& assigned : assigned_) backend_[assigned.id] = assigned.backend;

  assign_allocated(graph);
  for (const bool gpus_alone : {true, false}) {
    expand(graph.nodes.begin(), graph.nodes.end(), gpus_alone);
    expand(graph.nodes.rbegin(), graph.nodes.rend(), gpus_alone);
  }
  assign_unsupported(graph);
  assign_rest(graph);
  cut(graph, ops);
  return place(graph, ops);
}

// ggml_backend_sched_backend_from_buffer: who owns the buffer, if it can do what is asked.
BackendId Scheduler::of_buffer(const Tensor& tensor, const Tensor& op) const {
  const BackendId owner = tensor.is_view() ? tensor.view_of->buffer : tensor.buffer;
  return owner != kNoBackend && supports_op(backends_, owner, op) ? owner : kNoBackend;
}

// ggml_backend_sched_backend_id_from_cur: ops are preferably run where their weights are, but for
// those whose weights are too small to decide.
BackendId Scheduler::of_sources(const Tensor& tensor) const {
  const BackendId allocated = of_buffer(tensor, tensor);
  if (allocated != kNoBackend) return allocated;
  if (tensor.input) return cpu();
  if (tensor.op == Op::Rope || tensor.op == Op::FlashAttention) return kNoBackend;
  for (const Tensor* source : tensor.used_sources()) {
    if (source == nullptr || !source->weight) continue;
    const BackendId owner = of_buffer(*source, tensor);
    if (options_.offload_ops && owner == cpu() && offloads(tensor)) {
      for (BackendId gpu = 0; gpu < cpu(); ++gpu) {
        if (supports_op(backends_, gpu, tensor)) return gpu;
      }
    }
    return owner;
  }
  return kNoBackend;
}

// ggml_backend_sched_buffer_supported: no backend reads another's memory.
bool Scheduler::reads(const Tensor& tensor, BackendId backend) {
  BackendId holder = tensor.is_view() ? tensor.view_of->buffer : tensor.buffer;
  if (holder == kNoBackend) holder = of(tensor);
  if (holder == kNoBackend) holder = of_view(tensor);
  return holder == backend;
}

// Pass 1.
void Scheduler::assign_allocated(const Graph& graph) {
  for (const auto* tensors : {&graph.leafs, &graph.nodes}) {
    for (const Tensor* tensor : *tensors) {
      if (of(*tensor) == kNoBackend) of(*tensor) = of_sources(*tensor);
    }
  }
}

// Pass 2: a node without a backend takes that of the one before it.
template <typename Nodes>
void Scheduler::expand(const Nodes& begin, const Nodes& end, bool gpus_alone) {
  BackendId current = kNoBackend;
  for (Nodes it = begin; it != end; ++it) {
    const Tensor& node = **it;
    if (is_view_op(node.op)) continue;
    BackendId& own = of(node);
    if (own != kNoBackend) {
      current = gpus_alone && own == cpu() ? kNoBackend : own;
    } else if (current != kNoBackend && supports_op(backends_, current, node)) {
      own = current;
    }
  }
}

// Pass 3, of nodes that their neighbours' backend cannot compute: where most of the sources are.
// Its other half is for backends that share memory.
void Scheduler::assign_unsupported(const Graph& graph) {
  for (const Tensor* node : graph.nodes) {
    if (is_view_op(node->op) || of(*node) != kNoBackend) continue;
    int most = -1;
    for (BackendId backend = 0; backend <= cpu(); ++backend) {
      if (!supports_op(backends_, backend, *node)) continue;
      int count = 0;
      for (const Tensor* source : node->used_sources()) {
        if (source == nullptr) continue;
        const bool known = of(*source) != kNoBackend || of_view(*source) != kNoBackend;
        if (known && reads(*source, backend)) ++count;
      }
      if (count > most) {
        most = count;
        of(*node) = backend;
      }
    }
  }
}

// Pass 4.
void Scheduler::assign_rest(const Graph& graph) {
  for (const Tensor* node : graph.nodes) {
    BackendId& own = of(*node);
    if (own == kNoBackend) own = of_view(*node);
    for (const Tensor* source : node->used_sources()) {
      if (source == nullptr || of(*source) != kNoBackend) continue;
      of(*source) = source->is_view() ? of_view(*source) : own;
    }
    for (BackendId backend = 0; backend <= cpu() && own == kNoBackend; ++backend) {
      if (supports_op(backends_, backend, *node)) own = backend;
    }
  }
}

// Whether the node reads weights that have to be copied: a new split lets go of those before it.
bool Scheduler::needs_new_split(const Tensor& node) {
  const Split& current = splits_.back();
  if (current.inputs.empty()) return false;
  for (const Tensor* source : node.used_sources()) {
    if (source != nullptr && source->weight && of(*source) != current.backend &&
        !reads(*source, current.backend)) {
      return true;
    }
  }
  return false;
}

// Pass 5.
void Scheduler::cut(const Graph& graph, Ops& ops) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Tensor& node = *graph.nodes[i];
    if (is_view_op(node.op)) continue;
    const BackendId backend = of(node);
    if (splits_.empty()) {
      splits_.push_back({backend, 0, 0, {}});  // with the views before it
    } else if (backend != splits_.back().backend || needs_new_split(node)) {
      splits_.back().end = i;
      splits_.push_back({backend, i, 0, {}});
    }
    copy_sources(node, ops);
  }
  if (!splits_.empty()) splits_.back().end = graph.nodes.size();
}

// What the split's backend cannot read is copied once for it, and read from there.
void Scheduler::copy_sources(Tensor& node, Ops& ops) {
  Split& split = splits_.back();
  for (std::size_t i = 0; i < node.source_count; ++i) {
    Tensor* source = node.sources[i];
    if (source == nullptr) continue;
    if (of(*source) == split.backend || reads(*source, split.backend)) continue;
    std::vector<Tensor*>& copies = this->copies(*source, split.backend);
    if (copies.empty()) {
      const std::size_t count = options_.pipeline_parallel ? kPipelineCopies : 1;
      for (std::size_t c = 0; c < count; ++c) {
        Tensor* copy = ops.copy_layout(*source);
        copy->input = copy->output = options_.pipeline_parallel;  // nothing overwrites it
        copies.push_back(copy);
      }
      split.inputs.push_back(source);
    }
    node.sources[i] = copies.front();
  }
}

std::vector<Tensor*>& Scheduler::copies(const Tensor& tensor, BackendId backend) {
  std::int32_t& place =
      copies_of_[tensor.id * backends_.size() + static_cast<std::size_t>(backend)];
  if (place == kNoCopies) {
    place = static_cast<std::int32_t>(copies_.size());
    copies_.emplace_back();
  }
  return copies_[static_cast<std::size_t>(place)];
}

// Pass 6: under pipeline parallelism each graph input is there in as many copies, the first of
// which is itself. In the order of the leafs.
std::vector<Tensor*> Scheduler::copy_graph_inputs(const Graph& graph, Ops& ops) {
  std::vector<Tensor*> inputs;
  for (Tensor* leaf : graph.leafs) {
    if (!leaf->input) continue;
    std::vector<Tensor*>& copies = this->copies(*leaf, of(*leaf));
    for (std::size_t c = copies.size(); c < kPipelineCopies; ++c) {
      Tensor* copy = c == 0 ? leaf : ops.copy_layout(*leaf);
      copy->input = copy->output = true;
      copies.push_back(copy);
    }
    inputs.push_back(leaf);
  }
  return inputs;
}

// The rest of ggml_backend_sched_split_graph: its graph_copy.
PlacedGraph Scheduler::place(const Graph& graph, Ops& ops) {
  PlacedGraph placed;
  placed.nodes.reserve(graph.nodes.size() + graph.nodes.size() / 4);
  placed.leafs.reserve(graph.leafs.size());
  std::vector<Tensor*> inputs;
  if (options_.pipeline_parallel) inputs = copy_graph_inputs(graph, ops);
  place_nodes(graph, ops, placed);

  const auto place_copies = [&](const Tensor& tensor, BackendId backend) {
    for (Tensor* copy : copies(tensor, backend)) placed.leafs.push_back({copy, backend});
  };
  for (const Tensor* input : inputs) place_copies(*input, of(*input));
  if (options_.pipeline_parallel) {
    for (const Split& split : splits_) {
      for (const Tensor* input : split.inputs) place_copies(*input, split.backend);
    }
  }
  for (Tensor* leaf : graph.leafs) placed.leafs.push_back({leaf, of(*leaf)});
  return placed;
}

// Nodes, and among them such without an op, which only hold their sources until there: what is
// copied at the start of a split, where the copy is allocated as well, and what fused kernels read.
void Scheduler::place_nodes(const Graph& graph, Ops& ops, PlacedGraph& placed) {
  const auto hold = [&](Tensor* const* first, std::size_t count, BackendId backend) {
    Tensor* holding = ops.view_all(*first);
    holding->op = Op::None;
    holding->source_count = 0;
    for (std::size_t i = 0; i < count; ++i) holding->add_source(first[i]);
    placed.nodes.push_back({holding, backend});
  };
  std::vector<KeptUntil> kept;  // in the order of their ends
  for (const Split& split : splits_) {
    if (!backends_[static_cast<std::size_t>(split.backend)].cuda) continue;
    for (KeptUntil& more : kept_by_fusion(graph, split.begin, split.end)) {
      kept.push_back(std::move(more));
    }
  }
  std::size_t next = 0;
  for (const Split& split : splits_) {
    for (Tensor* input : split.inputs) {
      hold(&input, 1, of(*input));
      placed.nodes.push_back({copies(*input, split.backend).front(), split.backend});
    }
    for (std::size_t i = split.begin; i < split.end; ++i) {
      Tensor* node = graph.nodes[i];
      placed.nodes.push_back({node, of(*node)});
      if (next == kept.size() || kept[next].until != node) continue;
      const std::vector<Tensor*>& held = kept[next++].kept;
      for (std::size_t k = 0; k < held.size(); k += kMaxSources) {
        hold(&held[k], std::min<std::size_t>(kMaxSources, held.size() - k), split.backend);
      }
    }
  }
}

}  // namespace vramfit::llamacpp::ggml
