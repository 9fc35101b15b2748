#pragma once

#include "model/transformer/model.h"

namespace vramfit {

/// tokens (B, T) → (B·T, h), with learned positions from `first_position` on where there are any.
Tensor embed(Model& model, const Tensor& tokens, std::int64_t first_position);

/// The gradients of the embedding tables; the token table's adds to the head's where it is tied.
void embed_backward(Model& model, const Tensor& tokens, const Tensor& dx);

}  // namespace vramfit
