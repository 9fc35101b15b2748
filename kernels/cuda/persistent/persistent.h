#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "model/ops/arch.h"
#include "model/ops/attention_ops.h"
#include "model/ops/linear_ops.h"

namespace vramfit {

class QueuedProgram;

/// Ops of one row that come after each other while a step is recorded become one kernel, which
/// stays for all of them: weights stream from memory without a pause, also while blocks wait for
/// each other between ops. Each op does what its contract says, and nothing else is queued.
class PersistentOps {
 public:
  /// Queues nothing on GPUs before sm_90.
  explicit PersistentOps(Arch arch);
  ~PersistentOps();

  /// Returns false where the op is to be run as it is, after `launch`.
  bool queue(const LinearForward& op, cudaStream_t stream);
  bool queue(const MlpUpForward& op, cudaStream_t stream);
  bool queue(const RotaryAppend& op, cudaStream_t stream);
  bool queue(const AttentionDecode& op, cudaStream_t stream);

  /// Starts what is queued.
  void launch(cudaStream_t stream);

 private:
  template <typename Op>
  bool queue_linear(const Op& op, cudaStream_t stream);

  bool possible_;
  std::unique_ptr<QueuedProgram> program_;
};

}  // namespace vramfit
