#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"
#include "runtimes/pytorch/transformers/modules/settings.h"

namespace vramfit::pytorch {

/// How a family attends.
struct AttentionSettings {
  AttentionKind kind = AttentionKind::Sdpa;
  double dropout = 0;
  bool training = false;
  bool softmax_in_float = true;
  bool softcap = false;  ///< eager: scores pass through a tanh
};

/// What attention returns: eager attention its weights too, which nobody looks at, but which a
/// layer's forward keeps until it returns.
struct Attended {
  Tensor output;
  Tensor weights;
};

/// The attention interface: sdpa_attention_forward or eager_attention_forward of (batch, heads,
/// tokens, head_dim); the output is (batch, tokens, heads · head_dim).
Attended attend(const AttentionSettings& settings, const Tensor& query, const Tensor& key,
                const Tensor& value, const Tensor& mask);

}  // namespace vramfit::pytorch
