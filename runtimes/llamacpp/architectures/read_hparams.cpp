#include "runtimes/llamacpp/architectures/read_hparams.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "model/errors.h"
#include "runtimes/llamacpp/architectures/architecture.h"
#include "runtimes/llamacpp/base/limits.h"

namespace vramfit::llamacpp {
namespace {

void read_experts(const ArchKeys& keys, Hparams& h) {
  h.experts = keys.integer_or("expert_count", 0, 0, kMostExperts);
  const std::vector<std::int64_t> used =
      keys.each_or("expert_used_count", h.layers.size(), 0, 0, kMostExperts);
  h.experts_used = *std::max_element(used.begin(), used.end());
  if (h.experts_used > h.experts || (h.experts > 0 && h.experts_used == 0)) {
    keys.fail("expert_used_count", std::to_string(h.experts_used) + "; 1 to the " +
                                       std::to_string(h.experts) + " of expert_count");
  }
  h.expert_groups = keys.integer_or("expert_group_count", 0, 0, kMostExperts);
  h.groups_used = keys.integer_or("expert_group_used_count", 0, 0, kMostExperts);
}

void read_layers(const ArchKeys& keys, Hparams& h) {
  const std::size_t count = h.layers.size();
  const auto ffn = keys.each_or("feed_forward_length", count, 0, 0, kLargestFfn);
  const auto heads = keys.each_or("attention.head_count", count, 0, 0, kMostHeads);
  auto kv_heads = heads;
  if (keys.has("attention.head_count_kv")) {
    kv_heads = keys.each_or("attention.head_count_kv", count, 0, 0, kMostHeads);
  }
  for (std::size_t i = 0; i < count; ++i) {
    h.layers[i].ffn = ffn[i];
    h.layers[i].heads = heads[i];
    h.layers[i].kv_heads = kv_heads[i];
  }
}

void read_heads(const ArchKeys& keys, Hparams& h) {
  const std::int64_t heads = h.layers.front().heads;
  const std::int64_t usual = heads > 0 ? h.embd / heads : 0;
  const auto size = [&](const char* key, std::int64_t fallback) {
    return keys.integer_or(key, fallback, 0, kLargestHead);
  };
  h.head_k = size("attention.key_length", usual);
  h.head_v = size("attention.value_length", usual);
  h.rot = size("rope.dimension_count", h.head_k);
  h.head_k_swa = size("attention.key_length_swa", h.head_k);
  h.head_v_swa = size("attention.value_length_swa", h.head_v);
  h.rot_swa = size("rope.dimension_count_swa", h.rot);
}

/// Of n_vocab the vocabulary's loader takes the list of tokens, which conversion pads to the
/// config's.
std::int64_t read_vocab(const gguf::Metadata& metadata, const ArchKeys& keys) {
  const std::uint64_t tokens = metadata.length("tokenizer.ggml.tokens");
  if (tokens == 0) return keys.integer("vocab_size", 1, kLargestVocab);
  if (tokens > static_cast<std::uint64_t>(kLargestVocab)) {
    metadata.fail("tokenizer.ggml.tokens",
                  std::to_string(tokens) + " tokens; at most " + std::to_string(kLargestVocab));
  }
  return static_cast<std::int64_t>(tokens);
}

/// Whether its graph is of heads that are rotated whole: GGML_ASSERT(n_embd_head == n_rot).
bool rotates_whole_heads(const std::string& arch) {
  constexpr std::array<std::string_view, 9> kWhole = {"llama", "mistral3", "qwen2",
                                                      "qwen3", "qwen3moe", "granite",
                                                      "olmo2", "falcon",   "starcoder2"};
  return std::find(kWhole.begin(), kWhole.end(), arch) != kWhole.end();
}

/// What libllama asserts, here or where it builds a graph.
void check_layers(const ArchKeys& keys, const Hparams& h) {
  const bool whole = rotates_whole_heads(h.arch);
  const auto require = [&](bool holds, const char* key, const char* what) {
    if (!holds) keys.fail(key, what);
  };
  for (const Layer& layer : h.layers) {
    require(layer.heads > 0, "attention.head_count", "0 or missing; 1 or more in each layer");
    require(layer.kv_heads == 0 || layer.heads % layer.kv_heads == 0, "attention.head_count_kv",
            "no divisor of attention.head_count");
    require(layer.kv_heads > 0 || layer.recurrent, "attention.head_count_kv", "0; 1 or more");
    require(h.head_k_of(layer) > 0, "attention.key_length", "0; 1 or more");
    require(h.head_v_of(layer) > 0, "attention.value_length", "0; 1 or more");
    require(h.rot_of(layer) <= h.head_k_of(layer), "rope.dimension_count",
            "more than attention.key_length");
    require(!whole || h.rot_of(layer) == h.head_k_of(layer), "rope.dimension_count",
            "less than attention.key_length; as much, since its heads are rotated whole");
    require(layer.experts || layer.ffn > 0, "feed_forward_length", "0 or missing; 1 or more");
    require(!layer.experts || h.expert_ffn > 0, "expert_feed_forward_length",
            "0 or missing; 1 or more");
  }
}

}  // namespace

Hparams read_hparams(const gguf::Metadata& metadata) {
  const std::string name = metadata.text("general.architecture");
  const Architecture* arch = find_architecture(name);
  if (arch == nullptr) {
    metadata.fail("general.architecture", "'" + shortened(name, 24) + "'; " + kKnownArchitectures);
  }
  const ArchKeys keys(metadata, name);
  Hparams h;
  h.arch = name;
  h.name = metadata.text_or("general.name", name);
  h.layers.resize(static_cast<std::size_t>(keys.integer("block_count", 1, kMostLayers)));
  h.nextn_layers =
      keys.integer_or("nextn_predict_layers", 0, 0, static_cast<std::int64_t>(h.layers.size()) - 1);
  h.vocab = read_vocab(metadata, keys);
  h.context_train = keys.integer("context_length", 1, kLongestContext);
  h.embd = keys.integer("embedding_length", 1, kLargestWidth);
  read_experts(keys, h);
  read_layers(keys, h);
  read_heads(keys, h);
  arch->read(keys, h);
  check_layers(keys, h);
  return h;
}

}  // namespace vramfit::llamacpp
