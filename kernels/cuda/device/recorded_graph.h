#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "model/ops/device.h"

namespace vramfit {

/// Kernels as one CUDA graph, which starts them without the host.
class RecordedGraph final : public RecordedOps {
 public:
  /// Captures what `ops` launches on the stream, and launches it once. `early`: kernels may start
  /// while those before them still run, see EarlyStarts. The stream must outlive the graph.
  RecordedGraph(cudaStream_t stream, bool early, const std::function<void()>& ops);
  ~RecordedGraph() override;
  RecordedGraph(const RecordedGraph&) = delete;
  RecordedGraph& operator=(const RecordedGraph&) = delete;

  void run() override;

 private:
  cudaStream_t stream_;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace vramfit
