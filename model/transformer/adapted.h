#pragma once

#include "model/transformer/projection.h"

// What the adapters beside a projection do in each of its passes; nothing where it has none.

namespace vramfit {

/// To y = x Wᵀ. x: (N, in), y: (N, out).
void add_adapters(Model& model, const Projection& p, const Tensor& x, Tensor& y);

/// The gradient of their first halves' outputs, (N, adapters · rank), which is added to dx, (N,
/// in), as it comes through them; null: nobody reads that. dy: (N, out).
Tensor adapters_backward_input(Model& model, const Projection& p, const Tensor& dy, Tensor* dx);

/// Their own gradients. `du`: as returned by adapters_backward_input.
void adapters_backward_weight(Model& model, const Projection& p, const Tensor& x, const Tensor& dy,
                              const Tensor& du);

}  // namespace vramfit
