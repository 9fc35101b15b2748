#pragma once

#include <array>

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// cos and sin of every position, (1, tokens, rotated dimensions).
struct PositionEmbeddings {
  Tensor cos;
  Tensor sin;
};

/// LlamaRotaryEmbedding and its twins in the other families: transformers/models/*/modeling_*.py.
class RotaryEmbedding {
 public:
  RotaryEmbedding() = default;
  RotaryEmbedding(Context& context, std::int64_t dims);
  /// _init_weights: its frequencies are computed once more, into where they are.
  void initialize() const;
  /// `positions` is (1 or batch, tokens).
  PositionEmbeddings operator()(const Tensor& positions, ScalarType type) const;

  std::array<Tensor*, 2> buffers() { return {&inverse_frequencies_, &original_}; }

 private:
  Tensor inverse_frequencies_;
  Tensor original_;
};

/// apply_rotary_pos_emb of one of q and k: x·cos + rotate_half(x)·sin.
Tensor rotate(const Tensor& x, const Tensor& cos, const Tensor& sin);

/// Rotates q and k, or as many of their dimensions as the embeddings have.
void apply_rotary(Tensor& query, Tensor& key, const PositionEmbeddings& embeddings);

}  // namespace vramfit::pytorch
