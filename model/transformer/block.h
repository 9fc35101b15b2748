#pragma once

#include <functional>

#include "model/transformer/attention.h"
#include "model/transformer/checkpointing.h"
#include "model/transformer/codes.h"
#include "model/transformer/norm.h"

namespace vramfit {

/// What one block saves of a forward pass for its backward. Norm outputs and the activation's
/// product are not among it: backward computes them again in passing. In 16 bits, with flash
/// attention, a token takes 4h + 4ad + 4kd + 4a + 8 + 4f bytes in a llama block, in a qwen3 one
/// 2ad + 2kd + 4a + 4k more, and 20h + 4a + 16 in a gpt2 one.
struct SavedActivations {
  Tensor x;  ///< (N, h), the block's input
  NormStatistics norm1;
  SavedHeadNorm head_norm;  ///< where heads of q and k are normed
  Tensor qkv;               ///< (N, (a + 2k)·d), rotated
  SavedAttention attention;
  Tensor middle;  ///< (N, h), x + attention
  NormStatistics norm2;
  Tensor pre;  ///< (N, 2f) or (N, f), before the activation; in codes where linears multiply such
  CodeScales scales;  ///< where linears multiply codes; found anew by what is computed again

  const CodeScales* scales_or_null() const { return scales ? &scales : nullptr; }
};

/// One transformer block: x → x + out(attention(norm1 x)) =: m → m + down(act(up(norm2 m))).
/// `saved`: training; null frees each tensor after its last use.
Tensor block_forward(Model& model, int layer, const Sequence& sequence, Tensor x,
                     SavedActivations* saved);

/// Frees what of a block is to be computed again.
void forget(SavedActivations& saved, Checkpoint checkpoint);

/// Computes again what was forgotten, on the way to backward: the block's output is not among it.
void recompute(Model& model, int layer, const Sequence& sequence, SavedActivations& saved);

/// `dx`: in the gradient of the block's output, out of its input. Frees all that was saved, each
/// part once nothing more reads it. Where nothing before it is trained, backward ends at the first
/// adapters of the first block, and dx is none. `mlp_passed`: called between the halves, the MLP's
/// gradients written.
void block_backward(Model& model, int layer, const Sequence& sequence, SavedActivations saved,
                    Tensor& dx, const std::function<void()>& mlp_passed);

}  // namespace vramfit
