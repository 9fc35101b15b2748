#include "runtimes/pytorch/transformers/modules/kv_cache.h"

#include "runtimes/pytorch/torch/tensor/context.h"

namespace vramfit::pytorch {
namespace {

Tensor cached(const Tensor& added, std::int64_t length) {
  return empty(added.context(), added.sizes().with(2, length), added.type(), Category::KvCache);
}

}  // namespace

KvCache::KvCache(const ModelConfig& config) : layers_(static_cast<std::size_t>(config.layers)) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (config.slides(static_cast<std::int64_t>(i))) layers_[i].window = config.sliding_window;
  }
}

const KvCache::Layer& KvCache::first_layer(bool sliding) const {
  const auto found = std::find_if(layers_.begin(), layers_.end(), [sliding](const Layer& layer) {
    return layer.window.has_value() == sliding;
  });
  return found == layers_.end() ? layers_.front() : *found;
}

std::int64_t DynamicCache::keys(std::int64_t queries, bool sliding) const {
  return kept(first_layer(sliding), tokens()) + queries;
}

void DynamicCache::update(Tensor& key, Tensor& value, std::size_t index) {
  Layer& layer = layers_[index];
  if (index == 0) advance(key.size(2));
  if (layer.window && !layer.length.defined()) {
    layer.length = empty(key.context(), {}, ScalarType::Long, Category::Inputs);
  }
  const std::int64_t length = kept(layer, tokens() - key.size(2)) + key.size(2);
  // torch.cat copies all that is kept, and the old block goes once the new one is there.
  layer.keys = cached(key, length);
  layer.values = cached(value, length);
  key = layer.keys;
  value = layer.values;
}

std::int64_t StaticCache::keys(std::int64_t queries, bool sliding) const {
  const Layer& layer = first_layer(sliding);
  const std::int64_t length = length_of(layer);
  if (!layer.window || tokens() + queries <= length) return length;
  return std::min(tokens(), length - 1) + queries;
}

/// A full window moves on by a token: both are rolled into copies, and copied back.
void StaticCache::roll(const Layer& layer) const {
  const Tensor keys = cached(layer.keys, layer.keys.size(2));
  const Tensor values = cached(layer.values, layer.values.size(2));
}

void StaticCache::update(Tensor& key, Tensor& value, std::size_t index) {
  Layer& layer = layers_[index];
  const std::int64_t added = key.size(2);
  if (index == 0) advance(added);
  if (!layer.keys.defined()) {
    layer.keys = cached(key, length_of(layer));
    layer.values = cached(value, length_of(layer));
    layer.length = empty(key.context(), {}, ScalarType::Long, Category::Inputs);
  }
  if (layer.window && tokens() > length_of(layer)) {
    // A prompt beyond the window is attended to as it is, and its end copied.
    if (added > 1) return;
    roll(layer);
  } else {
    // arange(added) + cumulative_length: where they go.
    const Tensor range = empty(key.context(), {added}, ScalarType::Long, Category::Inputs);
    const Tensor positions = empty(key.context(), {added}, ScalarType::Long, Category::Inputs);
  }
  key = layer.keys;
  value = layer.values;
}

}  // namespace vramfit::pytorch
