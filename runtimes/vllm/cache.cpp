#include "runtimes/vllm/cache.h"

#include <algorithm>

#include "runtimes/vllm/elements.h"
#include "runtimes/vllm/profile.h"

namespace vramfit::vllm {
namespace {

constexpr std::int64_t kUsualBlock = 16;
constexpr std::int64_t kAnyLength = std::int64_t{1} << 24;

/// Layers that are alike, as far as their cache goes.
struct Kind {
  Layer of;
  std::uint64_t page = 0;
  std::int64_t block = 0;
  std::int64_t layers = 0;
};

bool alike(const Layer& a, const Layer& b) {
  if (a.keeps == Keeps::State && b.keeps == Keeps::State) return true;
  return a.keeps == b.keeps && a.window == b.window && a.kv_heads == b.kv_heads &&
         a.head_dim == b.head_dim;
}

std::uint64_t page_of(const Layer& layer, std::int64_t block, const Options& options,
                      std::int64_t element) {
  const std::int64_t heads = std::max<std::int64_t>(
      layer.keeps == Keeps::Latent ? 1 : layer.kv_heads / options.tensor_parallel, 1);
  const std::int64_t both = layer.keeps == Keeps::Latent ? 1 : 2;
  return static_cast<std::uint64_t>(both * block * heads * layer.head_dim * element);
}

/// Attention.get_kv_cache_spec: layers with a window have the least block that their kernel takes.
std::int64_t block_of(const Layer& layer, std::int64_t others) {
  return layer.keeps == Keeps::Window ? kUsualBlock : others;
}

/// What linear attention keeps of a sequence: of its convolution the last tokens, drafts among
/// them, and a matrix a head (MambaStateShapeCalculator.gated_delta_net_state_shape). Bytes.
std::int64_t state_of(const Shape& shape, const Options& options) {
  const Linear& of = shape.linear;
  const std::int64_t convolved = (2 * of.keys() + of.values()) * (of.kernel - 1 + options.drafted);
  const std::int64_t matrices = of.value_heads * of.key_dim * of.value_dim;
  return (convolved + matrices) / options.tensor_parallel * own_bytes(options);
}

/// _align_hybrid_block_size: an attention's page is no smaller than a state, which has one as
/// large.
std::int64_t aligned(const Shape& shape, const Options& options, std::int64_t block) {
  if (!shape.hybrid()) return block;
  Layer full = shape.layers.front();
  full.keeps = Keeps::All;
  const auto token = static_cast<std::int64_t>(page_of(full, 1, options, cache_bytes(options)));
  const std::int64_t unit = std::max(kUsualBlock, block);
  return std::max(block, padded_to(ceil_div(state_of(shape, options), token), unit));
}

std::vector<Kind> kinds_of(const Shape& shape, const Options& options, std::int64_t block) {
  std::vector<Kind> kinds;
  for (const Layer& layer : shape.layers) {
    const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const Kind& one) { return alike(one.of, layer); });
    if (kind != kinds.end()) {
      ++kind->layers;
    } else {
      const std::int64_t own = block_of(layer, block);
      const std::int64_t element = shape.keeps_own_type ? own_bytes(options) : cache_bytes(options);
      kinds.push_back({layer, page_of(layer, own, options, element), own, 1});
    }
  }
  return kinds;
}

/// unify_kv_cache_spec_page_size: smaller pages are of more tokens.
void unify(std::vector<Kind>& kinds) {
  std::uint64_t largest = 0;
  for (const Kind& kind : kinds) largest = std::max(largest, kind.page);
  for (Kind& kind : kinds) {
    kind.block *= static_cast<std::int64_t>(largest / kind.page);
    kind.page = largest;
  }
}

/// _get_kv_cache_groups_uniform_page_size: layers of a group.
std::int64_t group_size(const std::vector<Kind>& kinds) {
  const auto fewer = [](const Kind& a, const Kind& b) { return a.layers < b.layers; };
  const auto [least, most] = std::minmax_element(kinds.begin(), kinds.end(), fewer);
  return 2 * most->layers < 3 * least->layers ? most->layers : least->layers;
}

/// VllmConfig.max_concurrent_batches. One is prepared while another runs, but not of drafts; the
/// first runner does not in a pipeline.
std::int64_t batches_at_once(const Shape& shape, const Options& options) {
  if (options.drafted > 0) return options.pipeline;
  if (by_second_runner(shape, options)) return options.pipeline + 1;
  return options.pipeline == 1 ? 2 : options.pipeline;
}

}  // namespace

std::int64_t block_of(const Shape& shape, const Options& options, int sm) {
  if (options.block) return *options.block;
  const bool latent = shape.layers.front().keeps == Keeps::Latent;
  return latent && is_hopper(sm) && cache_bytes(options) == 1 ? 64 : kUsualBlock;
}

std::int64_t Cache::blocks_in(std::int64_t available) const {
  return available <= 0
             ? 0
             : available / static_cast<std::int64_t>(page) / std::max<std::int64_t>(tensors, 1);
}

std::int64_t Cache::blocks_of(std::int64_t length) const {
  std::int64_t blocks = 0;
  for (const CacheGroup& group : groups) {
    if (group.keeps == Keeps::Window) {
      blocks += ceil_div(std::min(group.window - 1 + in_flight, length), group.block) + 1;
    } else if (group.keeps == Keeps::State) {
      blocks += group.states;
    } else {
      blocks += ceil_div(length, group.block);
    }
  }
  return blocks;
}

std::int64_t Cache::longest(std::int64_t blocks, std::int64_t at_most) const {
  std::int64_t low = 0;
  std::int64_t high = at_most + 1;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (blocks_of(middle) <= blocks ? low : high) = middle;
  }
  return low;
}

Cache cache_of(const Shape& shape, const Options& options, std::int64_t batched_tokens, int sm) {
  std::vector<Kind> kinds =
      kinds_of(shape, options, aligned(shape, options, block_of(shape, options, sm)));
  unify(kinds);
  Cache cache;
  cache.page = kinds.front().page;
  cache.tensors = group_size(kinds);
  cache.in_flight = batched_tokens * batches_at_once(shape, options);
  for (const Kind& kind : kinds) {
    for (std::int64_t i = 0; i < ceil_div(kind.layers, cache.tensors); ++i) {
      const bool state = kind.of.keeps == Keeps::State;
      cache.groups.push_back({.keeps = kind.of.keeps,
                              .window = kind.of.window,
                              .block = state ? kAnyLength : kind.block,
                              .states = state ? 1 + options.drafted : 0});
    }
  }
  return cache;
}

}  // namespace vramfit::vllm
