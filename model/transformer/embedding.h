#pragma once

#include "model/transformer/model.h"

namespace vramfit {

/// tokens (B, T) → (B·T, h), with learned positions from `starts` on, (B), where there are any;
/// null: 0.
Tensor embed(Model& model, const Tensor& tokens, const Tensor* starts);

/// The gradients of the embedding tables; the token table's adds to the head's where it is tied.
/// Nothing where they are frozen.
void embed_backward(Model& model, const Tensor& tokens, const Tensor& dx);

}  // namespace vramfit
