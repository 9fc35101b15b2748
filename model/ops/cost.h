#pragma once

#include <cstdint>
#include <string>

#include "model/ops/attention_ops.h"
#include "model/ops/elementary_ops.h"
#include "model/ops/head_ops.h"
#include "model/ops/linear_ops.h"
#include "model/ops/optimizer_ops.h"

namespace vramfit {

/// What no device can do an op without, however well it fuses: the bytes of its contract, each
/// input read once and each output written once, and the FLOPs of its matrix products, of which
/// causal attention has half. With the rates of a GPU this bounds the op's time from below (the
/// roofline of Williams et al. 2009).
struct OpCost {
  const char* op;      ///< "norm_backward"
  const char* tensor;  ///< the weight it is about, "" where an op has but one use
  std::uint64_t bytes = 0;
  double flops = 0;  ///< a multiply-add is two

  /// "linear_forward:qkv": the same for the same op of every layer.
  std::string label() const;
};

OpCost cost(const FillNormal& op);
OpCost cost(const FillTokens& op);
OpCost cost(const EmbeddingForward& op);
OpCost cost(const EmbeddingBackward& op);
OpCost cost(const NormForward& op);
OpCost cost(const NormBackward& op);
OpCost cost(const RotaryEmbedding& op);
OpCost cost(const LinearForward& op);
OpCost cost(const LinearBackwardInput& op);
OpCost cost(const LinearBackwardWeight& op);
OpCost cost(const MlpUpForward& op);
OpCost cost(const MlpDownBackward& op);
OpCost cost(const AttentionForward& op);
OpCost cost(const AttentionBackward& op);
OpCost cost(const KvCacheAppend& op);
OpCost cost(const AttentionDecode& op);
OpCost cost(const HeadLoss& op);
OpCost cost(const LastToken& op);
OpCost cost(const Argmax& op);
OpCost cost(const OptimizerStep& op);

}  // namespace vramfit
