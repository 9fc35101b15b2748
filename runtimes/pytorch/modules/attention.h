#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "model/config/model_config.h"
#include "runtimes/pytorch/modules/settings.h"
#include "runtimes/pytorch/tensor/tensor.h"

namespace vramfit::pytorch {

/// DynamicCache: keys and values of every layer, grown by torch.cat; of layers that slide, no more
/// than their window. transformers/cache_utils.py (DynamicLayer, DynamicSlidingWindowLayer).
class DynamicCache {
 public:
  explicit DynamicCache(const ModelConfig& config);

  /// get_mask_sizes: what so many new tokens look at, themselves included, in the first layer that
  /// slides, or does not; in the first of all where there is none such.
  std::int64_t keys(std::int64_t queries, bool sliding) const;
  /// As if so many tokens had been appended one by one; the next update() makes room for them.
  void skip(std::int64_t tokens) { length_ += tokens; }
  /// Appends, and returns what was kept and what is new.
  void update(Tensor& key, Tensor& value, std::size_t layer);

 private:
  struct Layer {
    Tensor keys;
    Tensor values;
    std::optional<std::int64_t> window;
    Tensor window_size;  ///< on the device
  };
  /// Of `length_` tokens, how many a layer keeps: a sliding one, one less than its window. That is
  /// a view: until the next update() all that it was cut from stays.
  static std::int64_t kept(const Layer& layer, std::int64_t tokens) {
    return layer.window ? std::min(tokens, *layer.window - 1) : tokens;
  }

  std::vector<Layer> layers_;
  std::int64_t length_ = 0;
};

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
