#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtimes/llamacpp/ggml/backend.h"
#include "runtimes/llamacpp/ggml/graph.h"
#include "runtimes/llamacpp/ggml/graph_allocator.h"
#include "runtimes/llamacpp/ggml/ops.h"

namespace vramfit::llamacpp::ggml {

/// Nodes that follow each other on one backend, and what it has to have copied for them:
/// ggml_backend_sched_split.
struct Split {
  BackendId backend = kNoBackend;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<Tensor*> inputs;
};

/// Decides which backend computes what: ggml_backend_sched.
class Scheduler {
 public:
  struct Options {
    bool pipeline_parallel = false;  ///< inputs are there in several copies
    bool offload_ops = true;  ///< a GPU takes large batches of ops whose weights are on the host
  };

  Scheduler(const Backends& backends, Options options) : backends_(backends), options_(options) {}

  /// Whoever builds the graph wants it there: ggml_backend_sched_set_tensor_backend.
  void assign(const Tensor& tensor, BackendId backend);
  void reset() { assigned_.clear(); }

  /// ggml_backend_sched_split_graph: the graph with copies of what another backend holds, which
  /// take the place of sources and are made of `ops`, as the allocator takes it.
  PlacedGraph split(Graph& graph, Ops& ops);

  const std::vector<Split>& splits() const { return splits_; }
  /// Which backend computes it, or holds it, as of the last split.
  BackendId backend(const Tensor& tensor) const { return backend_[tensor.id]; }

 private:
  BackendId cpu() const { return cpu_of(backends_); }
  BackendId& of(const Tensor& tensor) { return backend_[tensor.id]; }
  BackendId of_view(const Tensor& tensor) {
    return tensor.is_view() ? of(*tensor.view_of) : kNoBackend;
  }
  BackendId of_buffer(const Tensor& tensor, const Tensor& op) const;
  BackendId of_sources(const Tensor& tensor) const;
  bool reads(const Tensor& tensor, BackendId backend);
  void assign_allocated(const Graph& graph);
  template <typename Nodes>
  void expand(const Nodes& begin, const Nodes& end, bool gpus_alone);
  void assign_unsupported(const Graph& graph);
  void assign_rest(const Graph& graph);
  bool needs_new_split(const Tensor& node);
  void cut(const Graph& graph, Ops& ops);
  void copy_sources(Tensor& node, Ops& ops);
  std::vector<Tensor*>& copies(const Tensor& tensor, BackendId backend);
  std::vector<Tensor*> copy_graph_inputs(const Graph& graph, Ops& ops);
  PlacedGraph place(const Graph& graph, Ops& ops);
  void place_nodes(const Graph& graph, Ops& ops, PlacedGraph& placed);

  struct Assigned {
    std::uint32_t id;
    BackendId backend;
  };

  const Backends& backends_;
  Options options_;
  std::vector<Assigned> assigned_;
  std::vector<BackendId> backend_;  // by id
  std::vector<Split> splits_;
  std::vector<std::int32_t> copies_of_;  // by id and backend: place in copies_, or none
  std::vector<std::vector<Tensor*>> copies_;
};

}  // namespace vramfit::llamacpp::ggml
