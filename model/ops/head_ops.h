#pragma once

#include <cstdint>

#include "model/memory/tensor.h"

namespace vramfit {

/// Logits, cross entropy and all their gradients, `chunk` tokens at a time, so that logits of the
/// whole batch never exist. Padding rows of the head take no part and get zero gradient.
///   logits = hidden Wᵀ (over the chunk), loss += loss_weight · Σ (logsumexp − logit[target])
///   dhidden = dlogits W overwrites hidden;   dW (+)= dlogitsᵀ hidden, over chunks in fp32,
///   rounded once;   dlogits = loss_weight · scale · (softmax − onehot)
struct HeadLoss {
  Tensor& hidden;         ///< (N, h); in: final norm's output, out: its gradient
  const Tensor& weight;   ///< (V, h), stored with padding rows
  const Tensor& targets;  ///< (B, T) int32
  std::int64_t chunk;     ///< head_chunk_tokens
  float loss_weight;      ///< 1 / (tokens · micro-batches)
  const Tensor* scaler;   ///< fp16: the loss scale, see LossScale; null: 1
  Tensor& loss;           ///< (1), accumulation dtype; added to
  Tensor* dweight;        ///< as weight; null: the head is frozen
  bool accumulate_dweight;
  Tensor& logits;       ///< (chunk, stored V)
  Tensor* dweight_sum;  ///< as weight in fp32: 16 bits and more than one chunk; null otherwise
  Tensor& gemm_workspace;
};

/// out[b] = x[b, counts[b] − 1].
struct LastToken {
  const Tensor& x;  ///< (B·T, h)
  std::int64_t seq;
  const Tensor* counts;  ///< (B), int32: tokens of each sequence; null: T
  Tensor& out;           ///< (B, h)
};

/// tokens[b] = the first index in [0, vocab) of the row's largest logit.
struct Argmax {
  const Tensor& logits;  ///< (B, stored V)
  std::int64_t vocab;
  Tensor& tokens;  ///< (B, 1) int32
};

}  // namespace vramfit
