#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "runtimes/pytorch/modules/settings.h"
#include "runtimes/pytorch/tensor/tensor.h"

namespace vramfit::pytorch {

/// DynamicCache: keys and values of every layer, grown by torch.cat. transformers/cache_utils.py.
class DynamicCache {
 public:
  /// `window`: of layers that slide, as DynamicSlidingWindowLayer.
  DynamicCache(std::int64_t layers, std::optional<std::int64_t> window)
      : layers_(static_cast<std::size_t>(layers)), window_(window) {}

  /// get_mask_sizes: what so many new tokens look at, themselves included.
  std::int64_t keys(std::int64_t queries) const { return kept(length_) + queries; }
  /// As if so many tokens had been appended one by one; the next update() makes room for them.
  void skip(std::int64_t tokens) { length_ += tokens; }
  /// Appends, and returns what was kept and what is new.
  void update(Tensor& key, Tensor& value, std::size_t layer);

 private:
  /// Of so many tokens a layer that slides keeps one less than its window. That is a view: until
  /// the next update() all that it was cut from stays.
  std::int64_t kept(std::int64_t tokens) const {
    return window_ ? std::min(tokens, *window_ - 1) : tokens;
  }

  struct Layer {
    Tensor keys;
    Tensor values;
    Tensor window;  ///< its size, on the device
  };
  std::vector<Layer> layers_;
  std::optional<std::int64_t> window_;
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
