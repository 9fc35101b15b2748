#pragma once

#include <cstdint>
#include <vector>

#include "runtimes/llamacpp/ggml/backend.h"
#include "runtimes/llamacpp/ggml/free_blocks.h"

namespace vramfit::llamacpp::ggml {

/// A tensor and the backend in whose buffer it goes.
struct Placed {
  Tensor* tensor;
  BackendId backend;
};

/// What a graph is allocated as: the scheduler's graph with its copies and dependencies.
struct PlacedGraph {
  std::vector<Placed> nodes;
  std::vector<Placed> leafs;
};

/// Gives tensors their place in a buffer for each backend, and takes it back after their last use:
/// ggml_gallocr.
class GraphAllocator {
 public:
  explicit GraphAllocator(const Backends& backends) : backends_(backends) {}

  /// Bytes of each backend's buffer: ggml_gallocr_reserve_n_size. Ids of tensors are below
  /// `end_id`.
  std::vector<std::uint64_t> reserve(const PlacedGraph& graph, std::uint32_t end_id);

  /// Where the last reservation put a tensor that has memory of its own.
  std::uint64_t offset(const Tensor& tensor) const { return state_[tensor.id].offset; }

 private:
  struct State {  // hash_node
    std::int32_t children = 0;
    std::int32_t views = 0;
    std::uint64_t offset = 0;
    BackendId backend = kNoBackend;
    bool allocated = false;
  };

  State& state(const Tensor& tensor) { return state_[tensor.id]; }
  std::uint64_t size_of(const Tensor& tensor);
  void count(const PlacedGraph& graph);
  void allocate(Tensor& node, BackendId backend);
  bool reuse_source(Tensor& node);
  void release(Tensor& source);
  void free(Tensor& tensor);

  const Backends& backends_;
  std::vector<State> state_;  // by id
  std::vector<FreeBlocks> buffers_;
};

}  // namespace vramfit::llamacpp::ggml
