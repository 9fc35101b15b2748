#include "model/transformer/kv_cache.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "model/checked.h"
#include "model/config/model_config.h"

namespace vramfit {
namespace {

void upload(Device& device, const Tensor& to, const std::vector<std::int32_t>& values) {
  device.upload(to, values.data(), values.size() * sizeof(std::int32_t));
}

/// Of each sequence: `more` positions beside its prompt's.
std::vector<std::int64_t> blocks_of(const std::vector<std::int64_t>& prompts, std::int64_t more,
                                    std::int64_t block) {
  std::vector<std::int64_t> blocks;
  for (const std::int64_t prompt : prompts)
    blocks.push_back(round_up(prompt + more, block) / block);
  return blocks;
}

}  // namespace

KvCache::KvCache(OpContext& context, const ModelConfig& config,
                 const std::vector<std::int64_t>& prompts, std::int64_t most, std::int64_t block)
    : shortest_(*std::min_element(prompts.begin(), prompts.end())),
      room_(most - *std::max_element(prompts.begin(), prompts.end())),
      lengths_(context.integers("lengths", Category::Inputs,
                                {static_cast<std::int64_t>(prompts.size())})) {
  const auto batch = static_cast<std::int64_t>(prompts.size());
  std::int64_t blocks = batch;
  if (block > 0) {
    const std::vector<std::int64_t> each = blocks_of(prompts, room_, block);
    blocks = std::accumulate(each.begin(), each.end(), std::int64_t{0});
    table_ = context.integers("block_table", Category::KvCache,
                              {batch, *std::max_element(each.begin(), each.end())});
    fill_table(context.device, each);
  }
  const std::int64_t positions = block > 0 ? block : most;
  const Shape shape = {blocks, positions, config.kv_heads, config.head_dim};
  const Shape scales = {blocks, positions, config.kv_heads};
  for (int layer = 0; layer < config.layers; ++layer) {
    keys_.push_back(context.cache({"keys", layer}, shape));
    values_.push_back(context.cache({"values", layer}, shape));
    if (!has_row_scales(context.precisions.cache)) continue;
    key_scales_.push_back(context.cache_scales({"key_scales", layer}, scales));
    value_scales_.push_back(context.cache_scales({"value_scales", layer}, scales));
  }
  upload(context.device, lengths_, {prompts.begin(), prompts.end()});
}

KvBlocks KvCache::layer(int layer) const {
  const auto at = static_cast<std::size_t>(layer);
  const bool scaled = !key_scales_.empty();
  return {keys_[at], values_[at], scaled ? &key_scales_[at] : nullptr,
          scaled ? &value_scales_[at] : nullptr, table_ ? &table_ : nullptr};
}

void KvCache::count(std::int64_t by) {
  if (by > room_ || shortest_ + by < 0) {
    throw std::logic_error("the cache has no room for the tokens, or none to forget");
  }
  shortest_ += by;
  room_ -= by;
}

/// Sequences that grow side by side take turns, so that none has neighbouring blocks.
void KvCache::fill_table(Device& device, const std::vector<std::int64_t>& blocks) {
  const auto width = static_cast<std::size_t>(table_.shape()[1]);
  std::vector<std::int32_t> table(blocks.size() * width, 0);
  std::int32_t next = 0;
  for (std::size_t i = 0; i < width; ++i) {
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (static_cast<std::int64_t>(i) < blocks[b]) table[b * width + i] = next++;
    }
  }
  upload(device, table_, table);
}

}  // namespace vramfit
