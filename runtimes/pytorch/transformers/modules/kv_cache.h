#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/config/model_config.h"
#include "runtimes/pytorch/torch/tensor/tensor.h"
#include "runtimes/pytorch/transformers/modules/generation_cache.h"

namespace vramfit::pytorch {

/// Keys and values of every layer: transformers/cache_utils.py, 5.17.
class KvCache : public GenerationCache {
 public:
  /// get_mask_sizes: what so many new tokens look at, themselves included, in the first layer that
  /// slides, or does not; in the first of all where there is none such.
  virtual std::int64_t keys(std::int64_t queries, bool sliding) const = 0;
  /// Appends, and returns what is kept and what is new.
  virtual void update(Tensor& key, Tensor& value, std::size_t layer) = 0;
  /// Whether keys are returned that no token has filled yet.
  virtual bool has_room() const = 0;

 protected:
  explicit KvCache(const ModelConfig& config);

  struct Layer {
    Tensor keys;
    Tensor values;
    std::optional<std::int64_t> window;
    Tensor length;  ///< on the device: the window, or how many tokens there are
  };
  const Layer& first_layer(bool sliding) const;

  std::vector<Layer> layers_;
};

/// DynamicCache: grown by torch.cat; of layers that slide, no more than their window
/// (DynamicLayer, DynamicSlidingWindowLayer).
class DynamicCache final : public KvCache {
 public:
  explicit DynamicCache(const ModelConfig& config) : KvCache(config) {}
  std::int64_t keys(std::int64_t queries, bool sliding) const override;
  void update(Tensor& key, Tensor& value, std::size_t layer) override;
  bool has_room() const override { return false; }

 private:
  /// Of `tokens`, how many a layer keeps: a sliding one, one less than its window. That is a view:
  /// until the next update() all that it was cut from stays.
  static std::int64_t kept(const Layer& layer, std::int64_t tokens) {
    return layer.window ? std::min(tokens, *layer.window - 1) : tokens;
  }
};

/// StaticCache: as long from the start as the generation gets (StaticLayer,
/// StaticSlidingWindowLayer).
class StaticCache final : public KvCache {
 public:
  StaticCache(const ModelConfig& config, std::int64_t most_tokens)
      : KvCache(config), most_tokens_(most_tokens) {}
  std::int64_t keys(std::int64_t queries, bool sliding) const override;
  void update(Tensor& key, Tensor& value, std::size_t layer) override;
  bool has_room() const override { return true; }

 private:
  std::int64_t length_of(const Layer& layer) const {
    return layer.window ? std::min(*layer.window, most_tokens_) : most_tokens_;
  }
  void roll(const Layer& layer) const;

  std::int64_t most_tokens_;
};

}  // namespace vramfit::pytorch
