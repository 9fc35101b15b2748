#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"
#include "runtimes/pytorch/transformers/modules/settings.h"

namespace vramfit::pytorch {

/// What create_causal_mask is asked for: transformers/masking_utils.py, 5.17.
struct MaskRequest {
  std::int64_t batch = 1;
  std::int64_t queries = 1;
  std::int64_t keys = 1;
  bool cached = false;  ///< there is a KV cache
  bool empty = false;   ///< which holds nothing yet
  bool room = false;    ///< and returns keys that no token has filled yet
  Tensor padding;       ///< (batch, keys) of generate's attention_mask; undefined: none given
  bool padded = false;  ///< and it masks something
  ScalarType type = ScalarType::Float;
  std::optional<std::int64_t> window;  ///< of sliding attention
};

/// Undefined where the kernel's own causal flag is enough.
Tensor create_causal_mask(Context& context, AttentionKind attention, const MaskRequest& request);

}  // namespace vramfit::pytorch
