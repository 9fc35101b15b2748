#pragma once

#include <vector>

#include "model/transformer/model.h"

namespace vramfit {

/// Keys and values of every position so far, for each layer. Allocated whole, for `positions`.
class KvCache {
 public:
  KvCache(OpContext& context, const ModelConfig& config, std::int64_t batch,
          std::int64_t positions);

  Tensor& keys(int layer) { return keys_[static_cast<std::size_t>(layer)]; }
  Tensor& values(int layer) { return values_[static_cast<std::size_t>(layer)]; }

  std::int64_t length = 0;  ///< positions filled

 private:
  std::vector<Tensor> keys_;    ///< (B, positions, k, d) each
  std::vector<Tensor> values_;  ///< (B, positions, k, d) each
};

/// The tokens a block runs over, and what its attention needs to know of them.
struct Sequence {
  AttentionForm form;
  std::int64_t batch;
  std::int64_t seq;
  KvCache* cache = nullptr;  ///< null in training

  std::int64_t tokens() const { return batch * seq; }
  std::int64_t first_position() const { return cache == nullptr ? 0 : cache->length; }
};

AttentionShape attention_shape(const ModelConfig& config, const Sequence& sequence);

/// What attention's backward needs beside qkv.
struct AttentionKept {
  Tensor out;            ///< (N, a·d)
  Tensor log_sum_exp;    ///< Flash: (B, a, T)
  Tensor probabilities;  ///< Cublas: (B, a, T, T)
};

/// Rotates qkv in place, by each token's position, or back.
void rotate(Model& model, Tensor& qkv, const Sequence& sequence, bool backward);

/// Attention of whole sequences from their start; fills the cache where there is one. qkv is
/// rotated. `keep`: training.
AttentionKept attend(Model& model, int layer, const Sequence& sequence, const Tensor& qkv,
                     bool keep);

/// Attention of one new token a sequence against the cache, which it joins. Returns (B, a·d).
Tensor attend_to_cache(Model& model, int layer, const Sequence& sequence, const Tensor& qkv);

/// The gradient of qkv before rotation. Frees all it is given.
Tensor attend_backward(Model& model, int layer, const Sequence& sequence, Tensor qkv,
                       AttentionKept kept, Tensor dout);

}  // namespace vramfit
