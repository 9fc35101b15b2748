#pragma once

#include <cstdint>

namespace vramfit::standin {

/// Of one graph, what the driver keeps of it.
struct GraphSize {
  std::uint64_t kernels = 0;   ///< with copies, which are kernels, too
  std::uint64_t launches = 0;  ///< of all of them, bytes

  void add_kernel(std::uint64_t arguments);
};

/// What a GPU loses to executable graphs beside what their kernels work on: the driver keeps each
/// graph's launches in regions of 2 MiB, which it never gives back, and uses again.
///
/// Read off an H100, driver 580.159.04, by the graphs at which cudaMemGetInfo's free bytes fell:
/// 1 to 1,024 kernels a graph, 16 to 4,008 bytes of a kernel's arguments
/// (data/reference/vllm/cuda_graphs.jsonl); as many graphs made anew, once all were destroyed, took
/// nothing more.
class GraphMemory {
 public:
  /// Of one more graph: bytes by which the loss grows.
  std::uint64_t add(const GraphSize& graph);
  void remove(const GraphSize& graph);

 private:
  std::uint64_t regions() const;

  std::uint64_t graphs_ = 0;
  GraphSize all_;
  std::uint64_t most_ = 0;  ///< regions
};

}  // namespace vramfit::standin
