#include "runtimes/vllm/cache.h"

#include <algorithm>

#include "model/errors.h"
#include "runtimes/vllm/drafts.h"
#include "runtimes/vllm/elements.h"
#include "runtimes/vllm/profile.h"
#include "runtimes/vllm/recurrent.h"

namespace vramfit::vllm {
namespace {

constexpr std::int64_t kUsualBlock = 16;
constexpr std::int64_t kAnyLength = std::int64_t{1} << 24;

/// What a layer caches (KVCacheSpec).
struct Spec {
  Keeps keeps = Keeps::All;
  std::int64_t window = 0;
  std::uint64_t page = 0;  ///< bytes of a block
  std::int64_t block = 0;  ///< tokens
  std::int64_t layer = 0;  ///< whose it is

  bool alike(const Spec& other) const {
    return keeps == other.keeps && window == other.window && page == other.page &&
           block == other.block;
  }
  /// Whether both have as many tokens in a block, and no fewer blocks of any request
  /// (is_uniform_with_collection).
  bool of_one_type(const Spec& other) const {
    const auto whole = [](const Spec& of) {
      return of.keeps == Keeps::All || of.keeps == Keeps::Latent;
    };
    return block == other.block &&
           ((whole(*this) && whole(other)) || (keeps == other.keeps && window == other.window));
  }
};

using Group = std::vector<Spec>;

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

/// _align_hybrid_block_size: an attention's page is no smaller than a state, which has one as
/// large.
std::int64_t aligned(const Shape& shape, const Options& options, std::int64_t block) {
  if (!shape.hybrid()) return block;
  Layer full = shape.layers.front();
  full.keeps = Keeps::All;
  const auto token = static_cast<std::int64_t>(page_of(full, 1, options, cache_bytes(options)));
  const std::int64_t unit = std::max(kUsualBlock, block);
  // get_mamba_state_shape_from_config of these knows no drafts, which the layers themselves have.
  const bool knows_none = shape.architecture == "GraniteMoeHybridForCausalLM" ||
                          shape.architecture == "FalconH1ForCausalLM";
  Options known = options;
  if (knows_none) known.drafted = 0;
  const std::int64_t tokens =
      std::max(block, padded_to(ceil_div(state_bytes(shape, known), token), unit));
  const std::int64_t state = state_bytes(shape, options);
  const bool attends = std::any_of(shape.layers.begin(), shape.layers.end(),
                                   [](const Layer& layer) { return layer.attends(); });
  if (attends && state > tokens * token) {
    throw BadInput("speculative-config: with " + std::to_string(options.drafted) +
                   " drafts states of " + std::to_string(state) +
                   " bytes are larger than the pages that vLLM makes for them, " +
                   std::to_string(tokens * token) + ", by which it fails; fewer, or none");
  }
  return tokens;
}

/// `first`: its first layer's number; of a drafting model's all have the same.
std::vector<Spec> specs_of(const Shape& shape, const Options& options, std::int64_t block,
                           std::int64_t first) {
  const std::int64_t element = shape.keeps_own_type ? own_bytes(options) : cache_bytes(options);
  const bool attends = std::any_of(shape.layers.begin(), shape.layers.end(),
                                   [](const Layer& layer) { return layer.attends(); });
  std::vector<Spec> specs;
  std::int64_t at = first;
  for (const Layer& layer : shape.layers) {
    const std::int64_t own = block_of(layer, block);
    // Where nothing attends, no page is made as large as an attention's.
    const std::uint64_t page = attends ? page_of(layer, own, options, element)
                                       : static_cast<std::uint64_t>(state_bytes(shape, options));
    if (layer.keeps != Keeps::Nothing) {
      specs.push_back({layer.keeps, layer.window, page, own, at});
    }
    if (layer.also_state) specs.push_back({Keeps::State, 0, page, own, at});
    if (first == 0) ++at;
  }
  return specs;
}

/// unify_kv_cache_spec_page_size: smaller pages are of more tokens.
void unify(std::vector<Spec>& specs, bool drafts) {
  std::uint64_t largest = 0;
  for (const Spec& spec : specs) largest = std::max(largest, spec.page);
  for (Spec& spec : specs) {
    if (spec.page == 0 || (spec.keeps != Keeps::State && largest % spec.page != 0)) {
      throw BadInput(std::string(drafts ? "speculative-config" : "block-size") + ": pages of " +
                     std::to_string(spec.page) + " and " + std::to_string(largest) +
                     " bytes are no multiple of each other, which vLLM refuses; " +
                     (drafts ? "what drafts with as many heads, of as many values"
                             : "a multiple of " + std::to_string(kUsualBlock)));
    }
    spec.block *= static_cast<std::int64_t>(largest / spec.page);
    spec.page = largest;
  }
}

std::vector<Group> by_kind(const std::vector<Spec>& specs) {
  std::vector<Group> kinds;
  for (const Spec& spec : specs) {
    const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const Group& one) { return one.front().alike(spec); });
    if (kind != kinds.end()) {
      kind->push_back(spec);
    } else {
      kinds.push_back({spec});
    }
  }
  return kinds;
}

/// _get_kv_cache_groups_uniform_page_size: layers of a group.
std::size_t group_size(const std::vector<Group>& kinds) {
  const auto fewer = [](const Group& a, const Group& b) { return a.size() < b.size(); };
  const auto [least, most] = std::minmax_element(kinds.begin(), kinds.end(), fewer);
  return 2 * most->size() < 3 * least->size() ? most->size() : least->size();
}

/// get_kv_cache_groups: one where all are of one type; else each kind is dealt out to as many as
/// have no more layers than the smallest kind.
std::vector<Group> grouped(std::vector<Spec> specs, bool drafts) {
  const auto alike = [&](const Spec& spec) { return spec.of_one_type(specs.front()); };
  if (std::all_of(specs.begin(), specs.end(), alike)) return {std::move(specs)};
  unify(specs, drafts);
  const std::vector<Group> kinds = by_kind(specs);
  const std::size_t size = group_size(kinds);
  std::vector<Group> groups;
  for (const Group& kind : kinds) {
    const std::size_t count = (kind.size() + size - 1) / size;
    for (std::size_t i = 0; i < count; ++i) {
      groups.emplace_back();
      for (std::size_t at = i; at < kind.size(); at += count) groups.back().push_back(kind[at]);
    }
  }
  return groups;
}

/// Of all layers that the stage has: of one group each has a tensor, of several those that stand at
/// the same place share one.
std::uint64_t block_bytes_of(const std::vector<Group>& groups, const Shape& stage) {
  const auto has = [&](const Spec& spec) {
    return spec.layer >= stage.first_layer &&
           spec.layer < stage.first_layer + static_cast<std::int64_t>(stage.layers.size());
  };
  std::uint64_t most = 0;
  for (const Group& group : groups) {
    std::uint64_t bytes = 0;
    for (const Spec& spec : group) bytes += has(spec) ? spec.page : 0;
    most = std::max(most, bytes);
  }
  return most;
}

/// VllmConfig.max_concurrent_batches. One is prepared while another runs, but not of drafts by
/// ngram; the first runner does not in a pipeline.
std::int64_t batches_at_once(const Shape& shape, const Options& options) {
  if (!options.async) return options.pipeline;
  if (by_second_runner(shape, options)) return options.pipeline + 1;
  if (options.drafts == Drafts::Ngram) return options.pipeline;
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
             : available / static_cast<std::int64_t>(std::max<std::uint64_t>(block_bytes, 1));
}

std::int64_t Cache::blocks_of(std::int64_t length) const {
  std::int64_t blocks = 0;
  for (const CacheGroup& group : groups) {
    if (group.keeps == Keeps::Chunk) {
      blocks += ceil_div(std::min(group.window + in_flight, length), group.block);
    } else if (group.keeps == Keeps::Window) {
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

Cache cache_of(const Shape& model, const Shape& stage, const Options& options,
               std::int64_t batched_tokens, int sm) {
  const std::int64_t block = aligned(model, options, block_of(model, options, sm));
  std::vector<Spec> specs = specs_of(model, options, block, 0);
  if (model.draft != nullptr) {
    grouped(specs, false);  // so that what its own layers clash by is not said of drafts
    // What drafts is the last stage's, behind the model's own layers.
    const auto last = static_cast<std::int64_t>(model.layers.size()) - 1;
    const std::vector<Spec> more = specs_of(model.draft->shape, options, block, last);
    specs.insert(specs.end(), more.begin(), more.end());
  }
  const std::vector<Group> groups = grouped(std::move(specs), model.draft != nullptr);
  Cache cache;
  cache.block_bytes = block_bytes_of(groups, stage);
  cache.in_flight = batched_tokens * batches_at_once(model, options);
  for (const Group& group : groups) {
    const Spec& first = group.front();
    const bool state = first.keeps == Keeps::State;
    cache.groups.push_back({.keeps = first.keeps,
                            .window = first.window,
                            .block = state ? kAnyLength : first.block,
                            .states = state ? 1 + options.drafted : 0});
  }
  return cache;
}

}  // namespace vramfit::vllm
