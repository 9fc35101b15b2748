#include "kernels/cuda/device/recorded_graph.h"

#include "kernels/cuda/base/early_starts.h"
#include "kernels/cuda/base/error.h"

namespace vramfit {
namespace {

/// Captures a stream while it lives.
class Capture {
 public:
  explicit Capture(cudaStream_t stream) : stream_(stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  }
  ~Capture() {
    if (open_) warn(cudaStreamEndCapture(stream_, &graph_), "cudaStreamEndCapture");
    if (graph_ != nullptr) warn(cudaGraphDestroy(graph_), "cudaGraphDestroy");
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// Ends the capture.
  cudaGraph_t graph() {
    open_ = false;
    check(cudaStreamEndCapture(stream_, &graph_), "cudaStreamEndCapture");
    return graph_;
  }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  bool open_ = true;
};

}  // namespace

RecordedGraph::RecordedGraph(cudaStream_t stream, bool early, const std::function<void()>& ops)
    : stream_(stream) {
  Capture capture(stream);
  {
    const EarlyStarts starts(early);
    ops();
  }
  check(cudaGraphInstantiate(&graph_, capture.graph(), 0), "cudaGraphInstantiate");
  run();
}

RecordedGraph::~RecordedGraph() {
  warn(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  if (graph_ != nullptr) warn(cudaGraphExecDestroy(graph_), "cudaGraphExecDestroy");
}

void RecordedGraph::run() { check(cudaGraphLaunch(graph_, stream_), "cudaGraphLaunch"); }

}  // namespace vramfit
