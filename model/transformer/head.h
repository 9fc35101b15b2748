#pragma once

#include "model/transformer/model.h"

namespace vramfit {

/// The loss of `hidden` (N, h) against `targets`, added to `loss`, and every gradient of the head:
/// `hidden` becomes its own gradient. `loss_weight` is 1 / (tokens · micro-batches); `scaler` is
/// fp16's loss scale or null.
void head_loss(Model& model, Tensor& hidden, const Tensor& targets, float loss_weight,
               const Tensor* scaler, Tensor& loss);

/// Logits of each sequence's last token: (B, stored V). Frees x, (B·T, h). `counts`: tokens of each
/// sequence, (B); null: T.
Tensor last_logits(Model& model, Tensor x, std::int64_t batch, std::int64_t seq,
                   const Tensor* counts);

}  // namespace vramfit
