#include "model/config/limits.h"
#include "model/config/llama_keys.h"
#include "model/config/readers.h"
#include "model/config/rope_keys.h"
#include "model/config/shape_keys.h"

// gemma, gemma2 and gemma3.
namespace vramfit {
namespace {

/// What gemma's config and its successors' have alike: all of the shape but rotation and windows.
ModelConfig read_gemma_shape(const JsonReader& json) {
  ModelConfig config;
  read_heads(json, config, "hidden_size", "num_attention_heads", 256);
  read_kv_heads(json, config, false);
  read_sizes(json, config, 8192);
  // The first checkpoints said "gelu" and were run with its tanh approximation: one op either way.
  const std::vector<const char*> gelu = {"gelu_pytorch_tanh", "gelu"};
  read_activation(json, config, ActivationKind::GeGlu, "hidden_act", gelu);
  json.require_text("hidden_activation", gelu);
  read_norm(json, config, NormKind::RmsNorm, "rms_norm_eps", 1e-6);
  config.qkv_bias = config.out_bias = json.boolean_or("attention_bias", false);
  config.tied_head = json.boolean_or("tie_word_embeddings", true);
  config.dropout.attention = read_rate(json, "attention_dropout");
  return config;
}

/// The norms and windows of gemma2 and gemma3. `full_every`: of so many layers the last one
/// does not slide, unless `layer_types` says otherwise.
void read_gemma2_layers(const JsonReader& json, ModelConfig& config, std::int64_t full_every) {
  constexpr std::int64_t kDefaultWindow = 4096;
  if (json.is_null("sliding_window")) {
    json.fail("sliding_window", "is null, which this family cannot run; a number of tokens");
  }
  const std::int64_t window = json.integer_or("sliding_window", kDefaultWindow, 1, kMaxPositions);
  read_windows(json, config, window,
               [full_every](std::int64_t layer) { return (layer + 1) % full_every != 0; });
  // A mask for sliding layers is made even where there are none.
  config.sliding_window = window;
  config.sliding_layers.resize(static_cast<std::size_t>(config.layers));
  config.block_norms = BlockNorms::Around;
}

/// On where the key is left out, off where it is null.
bool is_on(const JsonReader& json, const char* key) {
  json.number_or(key, 1, 0, kMaxFactor);
  return !json.is_null(key);
}

/// Frequencies of layers that slide and of the others, in two ways of writing them. Only the
/// others' are kept.
void read_gemma3_rope(const JsonReader& json, ModelConfig& config) {
  Rope rope;
  rope.theta = json.number_or("rope_theta", 1e6, 1, kMaxTheta);
  json.number_or("rope_local_base_freq", 1e4, 1, kMaxTheta);
  if (const auto scaling = json.object("rope_scaling")) read_rope_parameters(*scaling, rope);
  if (const auto by_kind = json.object("rope_parameters")) {
    Rope sliding;
    if (const auto own = by_kind->object("sliding_attention")) read_rope_parameters(*own, sliding);
    if (const auto own = by_kind->object("full_attention")) read_rope_parameters(*own, rope);
  }
  config.rope = rope;
}

}  // namespace

ModelConfig read_gemma(const JsonReader& json) {
  ModelConfig config = read_gemma_shape(json);
  read_rope(json, config);
  return config;
}

ModelConfig read_gemma2(const JsonReader& json) {
  ModelConfig config = read_gemma_shape(json);
  read_rope(json, config);
  read_gemma2_layers(json, config, 2);
  config.scores_softcap = is_on(json, "attn_logit_softcapping");
  config.logits_softcap = is_on(json, "final_logit_softcapping");
  return config;
}

ModelConfig read_gemma3(const JsonReader& json) {
  constexpr std::int64_t kDefaultPattern = 6;
  ModelConfig config = read_gemma_shape(json);
  read_gemma3_rope(json, config);
  read_gemma2_layers(json, config,
                     json.integer_or("sliding_window_pattern", kDefaultPattern, 1, kMaxLayers));
  config.qk_norm = QkNorm::Head;
  // attn_logit_softcapping reaches no attention function.
  json.number_or("final_logit_softcapping", 1, 0, kMaxFactor);
  config.logits_softcap = json.has("final_logit_softcapping");
  return config;
}

}  // namespace vramfit
