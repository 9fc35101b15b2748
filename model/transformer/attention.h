#pragma once

#include "model/transformer/kv_cache.h"
#include "model/transformer/model.h"

namespace vramfit {

/// The tokens a block runs over, and what its attention needs to know of them.
struct Sequence {
  AttentionForm form;
  std::int64_t batch;
  std::int64_t seq;
  KvCache* cache = nullptr;  ///< null in training

  std::int64_t tokens() const { return batch * seq; }
  bool decoding() const { return cache != nullptr && cache->filled(); }
  /// (B): the position of each sequence's first token; null: 0.
  const Tensor* starts() const { return decoding() ? &cache->lengths() : nullptr; }
  /// (B): how many of its tokens are the prompt's; null: all.
  const Tensor* counts() const {
    return cache == nullptr || cache->filled() ? nullptr : &cache->lengths();
  }
};

AttentionShape attention_shape(const ModelConfig& config, const Sequence& sequence);

/// What attention's backward needs beside qkv.
struct SavedAttention {
  Tensor out;            ///< (N, a·d)
  Tensor log_sum_exp;    ///< Flash: (B, a, T)
  Tensor probabilities;  ///< Cublas: (B, a, T, T)
};

/// What the norm of q's and k's heads needs for its backward; nothing where there is none.
struct SavedHeadNorm {
  Tensor x;     ///< (N, (a + k)·d): q and k before
  Tensor rstd;  ///< (N, a + k)
};

/// Norms q's and k's heads in place, in a model that does. `saved`: where what backward needs goes;
/// null where nothing comes back.
void normalize_heads(Model& model, int layer, const Sequence& sequence, Tensor& qkv,
                     SavedHeadNorm* saved);

/// dqkv in place, from the gradient of what was normed to that of what it came from.
void normalize_heads_backward(Model& model, int layer, const Sequence& sequence,
                              SavedHeadNorm saved, Tensor& dqkv);

/// Rotates qkv in place, by each token's position, or back.
void rotate(Model& model, Tensor& qkv, const Sequence& sequence, bool backward);

/// Attention of whole sequences from their start; fills the cache where there is one. qkv is
/// rotated. `save`: training.
SavedAttention attend(Model& model, int layer, const Sequence& sequence, const Tensor& qkv,
                      bool save);

/// Attention of one new token a sequence against the cache, which it joins, its q and k rotated.
/// Returns (B, a·d).
Tensor attend_to_cache(Model& model, int layer, const Sequence& sequence, Tensor& qkv);

/// The gradient of qkv before rotation. Frees all it is given.
Tensor attend_backward(Model& model, int layer, const Sequence& sequence, Tensor qkv,
                       SavedAttention saved, Tensor dout);

}  // namespace vramfit
