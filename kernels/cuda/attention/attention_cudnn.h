#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model/ops/attention_ops.h"

// Flash attention in 16 bits is cuDNN's. Without cuDNN the same functions exist and refuse it.
//
// The workspace that its plans want, as cuDNN 9.19 says of an sm_90 card with 132 SMs, alike in
// fp16 and bf16, for all of 24 shapes asked (llama, gpt2, qwen2, odd sizes; batch 1 to 64, seq 2 to
// 2048, d 8 to 256, 1 to 8 query heads a key/value head), to the byte:
//   forward, with statistics or without: 256
//   backward: 4·B·T·a·d (dQ in fp32) + 4·B·T·a (row sums) + 256
//             + 2·(2·B·T·a·d) where queries are grouped (dK and dV of every query head)
// The plan after the best one wants 0 for forward, and far more than that for backward.

namespace vramfit {

/// The workspace that cuDNN's plans for one shape want, in bytes. Forward's is the larger one of
/// with statistics and without.
struct CudnnWorkspace {
  std::uint64_t forward;
  std::uint64_t backward;
};

/// cuDNN's plans, built once a shape and kept. A shape's first call builds (seconds); it maps no
/// memory of the pool's but the driver may take some for the kernel.
class CudnnAttention {
 public:
  /// `stream` is a cudaStream_t, and must outlive this.
  explicit CudnnAttention(void* stream);
  ~CudnnAttention();
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  /// Both throw BadInput where cuDNN has no such kernel, CudaError with both sizes where every plan
  /// wants more than the workspace given.
  void run(const AttentionForward& op);
  void run(const AttentionBackward& op);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// "9.19.0", of the library that is loaded; "none" without cuDNN.
std::string cudnn_version();

/// By asking plans of the current GPU, or of the one that `device_properties` describes, which
/// need not be there.
CudnnWorkspace cudnn_workspace(const AttentionShape& shape, Format format,
                               const std::string& device_properties = {});

/// The current GPU's, as cuDNN's JSON.
std::string cudnn_device_properties();

}  // namespace vramfit
