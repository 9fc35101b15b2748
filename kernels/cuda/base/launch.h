#pragma once

#include <cuda_runtime_api.h>

#include "model/ops/ops.h"

// Starts our own kernels. All are ordered by the stream, none waits for it or allocates; an op that
// is not what its contract says throws std::logic_error, a launch that fails CudaError.
// Ops that are a GEMM and something around it come as that something.

namespace vramfit {

/// HeadLoss between its GEMMs, for the tokens [first, first + count): logits to their gradients,
/// padding columns to zero; the loss is added to, in an order that does not vary. Scratch: 4 B a
/// token in `op.gemm_workspace`.
struct HeadLossChunk {
  const HeadLoss& op;
  std::int64_t first;
  std::int64_t count;  ///< op.chunk at most
};

/// HeadLoss after its last chunk: dweight (+)= dweight_sum, rounded.
struct HeadGradientRounding {
  const HeadLoss& op;
};

/// AttentionForward's Cublas form between its GEMMs.
struct AttentionSoftmax {
  const AttentionShape& shape;
  float scale;     ///< what scores are still to be multiplied by
  Tensor& scores;  ///< (B, a, T, T); in: scores, out: probabilities, zero above the diagonal
};

/// AttentionBackward's: dS = P · (dP − the row's Σ P · dP) · scale, zero above the diagonal.
struct AttentionSoftmaxBackward {
  const AttentionShape& shape;
  float scale;
  const Tensor& probabilities;  ///< (B, a, T, T)
  Tensor& dscores;              ///< (B, a, T, T); in: dP, out: dS
};

/// AttentionForward and AttentionBackward in the Flash form for fp32, which cuDNN does not run.
struct FlashForwardFp32 {
  const AttentionForward& op;
};
struct FlashBackwardFp32 {
  const AttentionBackward& op;
};

/// Defined for the ops that are one kernel; CudaDevice puts the others together.
#define VRAMFIT_LAUNCH(Op) void launch(const Op&, cudaStream_t);
VRAMFIT_OPS(VRAMFIT_LAUNCH)
#undef VRAMFIT_LAUNCH

void launch(const HeadLossChunk&, cudaStream_t);
void launch(const HeadGradientRounding&, cudaStream_t);
void launch(const AttentionSoftmax&, cudaStream_t);
void launch(const AttentionSoftmaxBackward&, cudaStream_t);
void launch(const FlashForwardFp32&, cudaStream_t);
void launch(const FlashBackwardFp32&, cudaStream_t);

}  // namespace vramfit
