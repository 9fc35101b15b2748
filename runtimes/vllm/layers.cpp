#include "runtimes/vllm/layers.h"

#include <algorithm>

#include "model/config/limits.h"
#include "runtimes/vllm/elements.h"
#include "runtimes/vllm/limits.h"
#include "runtimes/vllm/recurrent.h"

namespace vramfit::vllm {
namespace {

Experts experts_of(const Config& config, const Architecture& architecture) {
  Experts experts;
  if (config.integer_or({"num_local_experts", "num_experts", "n_routed_experts"}, 1) == 0) {
    return experts;  // of Granite's hybrids some have none
  }
  experts.biased = architecture.name == "GptOssForCausalLM";
  experts.router_in_fp32 =
      architecture.router_in_fp32 || config.json().text_or("router_dtype", "") == "fp32";
  experts.router_stored = architecture.router_stored;
  experts.corrected = config.json().text_or("topk_method", "") == "noaux_tc" ||
                      architecture.one_each || config.truth("use_expert_bias", false) ||
                      config.truth("moe_router_enable_expert_bias", false);
  experts.shared_gated = architecture.shared_gate;
  experts.count =
      config.integer({"num_local_experts", "num_experts", "n_routed_experts"}, kMostExperts);
  experts.used = config.integer({"num_experts_per_tok"}, experts.count);
  experts.width = config.integer({"moe_intermediate_size", "intermediate_size"}, kMostWidth);
  experts.shared =
      config.integer_or({"shared_expert_intermediate_size", "shared_intermediate_size"}, 0);
  if (experts.shared == 0) {
    experts.shared =
        config.integer_or({"n_shared_experts"}, architecture.name == "Llama4ForCausalLM" ? 1 : 0) *
        config.integer_or({"moe_shared_expert_intermediate_size"}, experts.width);
  }
  if (experts.shared > kMostWidth) {
    config.json().fail("n_shared_experts",
                       "are together wider than " + std::to_string(kMostWidth) + "; narrower ones");
  }
  return experts;
}

/// Whether the layer's MLP is a mixture, by the keys that families have for it.
bool is_mixture(const Config& config, std::int64_t layer) {
  if (layer < config.integer_or({"first_k_dense_replace"}, 0)) return false;
  const std::vector<std::int64_t> dense = config.integers("mlp_only_layers");
  if (std::find(dense.begin(), dense.end(), layer) != dense.end()) return false;
  if (layer > config.integer_or({"moe_layer_end_index"}, layer)) return false;
  const std::int64_t every = config.integer_or({"decoder_sparse_step"}, 1, 1);
  const std::int64_t step = config.integer_or({"moe_layer_freq"}, 1, 1);
  return (layer + 1) % every == 0 && layer % step == 0;
}

std::int64_t window_of(const Config& config) {
  if (!config.truth("use_sliding_window", true)) return 0;
  return config.integer_or({"sliding_window"}, 0);
}

Latent latent_of(const Config& config, std::int64_t heads) {
  const Latent of{.q_rank = config.integer_or({"q_lora_rank"}, 0),
                  .kv_rank = config.integer({"kv_lora_rank"}, kMostWidth),
                  .nope = config.integer({"qk_nope_head_dim"}, kMostWidth),
                  .rope = config.integer({"qk_rope_head_dim"}, kMostWidth),
                  .value = config.integer({"v_head_dim"}, kMostWidth)};
  if (of.q_rank > kMostWidth) {
    config.json().fail("q_lora_rank", "is more than " + std::to_string(kMostWidth) + "; less");
  }
  if (std::max(of.nope + of.rope, of.value) > kMostWidth / heads) {
    config.json().fail("qk_nope_head_dim",
                       "or v_head_dim is so large that all heads together are wider than " +
                           std::to_string(kMostWidth) + "; less");
  }
  return of;
}

void require_heads(const Config& config, const Layer& layer) {
  if (layer.head_dim < 1) {
    config.json().fail("head_dim", "is 0, or hidden_size less than num_attention_heads; 1 or more");
  }
  if (layer.kv_heads < 1) config.json().fail("num_key_value_heads", "is 0; 1 or more");
  if (layer.head_dim > kMostWidth / std::max(layer.heads, layer.kv_heads)) {
    config.json().fail("head_dim", "is so large that all heads together are wider than " +
                                       std::to_string(kMostWidth) + "; less");
  }
}

/// Heads that do not share out keys Attention refuses; those that do not share out the hidden size,
/// transformers' classes of a config's file. Of what --hf-overrides makes so the class has head_dim
/// by the file as it was, which is not followed here. Heads of latents have sizes of their own.
void require_shared_out(const Config& config, const Layer& layer, std::int64_t hidden) {
  const JsonReader json = config.json();
  if (json.has("kv_lora_rank")) return;
  if (!json.has("head_dim") && hidden % layer.heads != 0) {
    json.fail("num_attention_heads", "is " + std::to_string(layer.heads) +
                                         ", which does not divide hidden_size " +
                                         std::to_string(hidden) + "; one that does, or head_dim");
  }
  if (layer.heads % layer.kv_heads != 0) {
    json.fail("num_key_value_heads", "is " + std::to_string(layer.kv_heads) +
                                         ", which does not divide num_attention_heads " +
                                         std::to_string(layer.heads) + "; one that does");
  }
}

Layer attention_of(const Shape& shape, const Config& config) {
  Layer layer;
  layer.heads = config.integer({"num_attention_heads", "n_head"});
  layer.kv_heads = config.integer_or({"num_key_value_heads", "num_kv_heads"}, layer.heads);
  if (config.truth("multi_query", false) && !config.truth("new_decoder_architecture", false)) {
    layer.kv_heads = 1;
  }
  layer.head_dim = config.integer_or({"head_dim"}, shape.hidden / layer.heads);
  require_heads(config, layer);
  require_shared_out(config, layer, shape.hidden);
  return layer;
}

/// Whether the layer keeps a state, by its type, or where no types are given by its place.
bool keeps_state(const Config& config, const std::vector<std::string>& types, std::int64_t layer) {
  const auto at = static_cast<std::size_t>(layer);
  if (at < types.size()) {
    return types[at] == "linear_attention" || types[at] == "mamba" || types[at] == "conv";
  }
  const std::int64_t interval = config.integer_or({"full_attention_interval"}, 4, 1);
  return types.empty() && (layer + 1) % interval != 0;
}

/// Llama 4's layers that attend to chunks rotate; each fourth does not.
bool rotates(const Config& config, std::int64_t layer) {
  const std::vector<std::int64_t> listed = config.integers("no_rope_layers");
  const auto at = static_cast<std::size_t>(layer);
  return at < listed.size() ? listed[at] != 0 : (layer + 1) % 4 != 0;
}

/// Lfm2MLP: two thirds of what the config says, rounded up.
std::int64_t adjusted(const Config& config, std::int64_t ffn) {
  if (!config.truth("block_auto_adjust_ff_dim", false)) return ffn;
  const double factor = config.json().number_or("block_ffn_dim_multiplier", 1, 0, 16);
  const std::int64_t thirds = 2 * ffn / 3;
  const auto part = static_cast<std::int64_t>(factor * static_cast<double>(thirds));
  return padded_to(part, config.integer_or({"block_multiple_of"}, 256, 1));
}

std::int64_t ffn_of(const Config& config, const Architecture& architecture, std::int64_t hidden) {
  const std::int64_t ffn =
      architecture.recurrent == Mixing::Mamba2 && config.json().has("shared_intermediate_size")
          ? config.integer({"shared_intermediate_size"})
          : config.integer_or({"block_ff_dim", "intermediate_size", "ffn_hidden_size", "n_inner"},
                              4 * hidden);
  const std::int64_t width = adjusted(config, ffn);
  if (width <= kMaxFfn) return width;
  config.json().fail("intermediate_size", "or what stands for it makes an MLP of " +
                                              std::to_string(width) + ", wider than " +
                                              std::to_string(kMaxFfn) + "; a narrower one");
}

/// NemotronH's: M keeps a state, - is an MLP, E a mixture, * attends.
void add_kinds(Shape& shape, const Config& config, const Layer& layer, const std::string& kinds,
               const Architecture& architecture) {
  if (kinds.size() > static_cast<std::size_t>(kMaxLayers)) {
    config.json().fail("hybrid_override_pattern",
                       "has more than " + std::to_string(kMaxLayers) + " layers; fewer");
  }
  if (kinds.find_first_of("M*") == std::string::npos) {
    config.json().fail("hybrid_override_pattern",
                       "has no layer that attends or keeps a state; M or * among them");
  }
  for (const char kind : kinds) {
    Layer one = layer;
    one.mlp = false;
    switch (kind) {
      case '*':
        break;
      case 'M':
        one.keeps = Keeps::State;
        break;
      case 'E':
        one.keeps = Keeps::Nothing;
        one.mlp = one.experts = true;
        break;
      case '-':
        one.keeps = Keeps::Nothing;
        one.mlp = true;
        one.ffn = ffn_of(config, architecture, shape.hidden);
        break;
      default:
        config.json().fail("hybrid_override_pattern",
                           std::string("has a layer '") + kind + "'; M, -, E or *");
    }
    shape.layers.push_back(one);
  }
}

/// As letters, which newer configs write as words.
std::string kinds_of(const Config& config) {
  std::string kinds;
  for (const std::string& word : config.texts("layers_block_type")) {
    const bool known = word == "mamba" || word == "moe" || word == "attention" || word == "mlp";
    if (!known) {
      config.json().fail("layers_block_type", "has '" + word + "'; mamba, moe, attention or mlp");
    }
    kinds += word == "mamba" ? 'M' : word == "moe" ? 'E' : word == "attention" ? '*' : '-';
  }
  if (!kinds.empty()) return kinds;
  if (config.json().has("hybrid_override_pattern")) {
    return config.json().text("hybrid_override_pattern");
  }
  // Mamba-2 alone.
  const std::int64_t count = config.integer({"num_hidden_layers"}, kMaxLayers);
  return std::string(static_cast<std::size_t>(count), 'M');
}

}  // namespace

void add_layers(Shape& shape, const Config& config, const Architecture& architecture) {
  const std::int64_t count =
      architecture.one_each ? 0 : config.integer({"num_hidden_layers", "n_layer"}, kMaxLayers);
  std::vector<std::string> types = config.texts("layer_types");
  if (types.empty()) types = config.texts("layers_block_type");
  const std::int64_t window = window_of(config);
  const std::int64_t chunk = config.integer_or({"attention_chunk_size"}, 0);
  // Where types are given, a pattern may be there in letters.
  const std::int64_t pattern =
      types.empty() ? config.integer_or({"sliding_window_pattern"}, architecture.pattern) : 0;
  const Layer layer = attention_of(shape, config);
  const std::string kinds = architecture.one_each ? kinds_of(config) : std::string();
  const bool mixes =
      architecture.experts && (!architecture.one_each || kinds.find('E') != std::string::npos);
  if (mixes) shape.experts = experts_of(config, architecture);
  const bool latent = config.json().has("kv_lora_rank");
  if (latent) shape.latent = latent_of(config, layer.heads);
  shape.recurrent = recurrent_of(config, architecture, shape.hidden);
  if (architecture.one_each) return add_kinds(shape, config, layer, kinds, architecture);
  for (std::int64_t i = 0; i < count; ++i) {
    Layer one = layer;
    const auto at = static_cast<std::size_t>(i);
    const bool slides = at < types.size()
                            ? types[at] == "sliding_attention"
                            : types.empty() && (pattern == 0 || (i + 1) % pattern != 0);
    if (latent) {
      one.keeps = Keeps::Latent;
      one.kv_heads = 1;
      one.head_dim = shape.latent.kv_rank + shape.latent.rope;
    } else if (architecture.state_in_each) {
      one.also_state = true;
    } else if (shape.hybrid() && keeps_state(config, types, i)) {
      one.keeps = Keeps::State;
    } else if (chunk > 0 && rotates(config, i)) {
      one.keeps = Keeps::Chunk;
      one.window = chunk;
    } else if (slides && window > 0) {
      one.keeps = Keeps::Window;
      one.window = window;
    }
    one.experts = shape.mixture() && is_mixture(config, i);
    if (!one.experts) one.ffn = ffn_of(config, architecture, shape.hidden);
    shape.layers.push_back(one);
  }
}

}  // namespace vramfit::vllm
