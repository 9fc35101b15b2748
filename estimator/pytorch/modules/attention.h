#pragma once

#include <vector>

#include "estimator/pytorch/modules/settings.h"
#include "estimator/pytorch/tensor.h"

namespace vramfit::pytorch {

/// DynamicCache: keys and values of every layer, grown by torch.cat. transformers/cache_utils.py.
class DynamicCache {
 public:
  /// `sliding`: of layers that know a window, as DynamicSlidingWindowLayer.
  DynamicCache(std::int64_t layers, bool sliding)
      : layers_(static_cast<std::size_t>(layers)), sliding_(sliding) {}

  std::int64_t length() const { return length_; }
  /// As if so many tokens had been appended one by one; the next update() makes room for them.
  void skip(std::int64_t tokens) { length_ += tokens; }
  /// Appends, and returns what is there now.
  void update(Tensor& key, Tensor& value, std::size_t layer);

 private:
  struct Layer {
    Tensor keys;
    Tensor values;
    Tensor window;  ///< its size, on the device
  };
  std::vector<Layer> layers_;
  bool sliding_;
  std::int64_t length_ = 0;
};

/// How a family attends.
struct AttentionSettings {
  AttentionKind kind = AttentionKind::Sdpa;
  double dropout = 0;
  bool training = false;
  bool softmax_in_float = true;  ///< eager: gpt2 leaves the type as it is
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
