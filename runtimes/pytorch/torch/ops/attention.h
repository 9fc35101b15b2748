#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// How nn.functional.scaled_dot_product_attention is asked.
struct SdpaOptions {
  Tensor mask;  ///< boolean, (batch, 1, queries, keys); undefined: none
  double dropout = 0;
  bool causal = false;
  bool grouped = false;  ///< enable_gqa: fewer heads in keys and values than in queries
};

/// nn.functional.scaled_dot_product_attention of (batch, heads, tokens, head_dim). Casts under
/// autocast, then picks a kernel as a card of the context's architecture would.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const SdpaOptions& options);

}  // namespace vramfit::pytorch
