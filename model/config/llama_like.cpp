#include "model/config/families.h"
#include "model/config/limits.h"
#include "model/config/rope_keys.h"
#include "model/config/shape_keys.h"

namespace vramfit {
namespace {

// What transformers assumes where a mistral or qwen2 file leaves the key out; null there says none.
constexpr std::int64_t kDefaultWindow = 4096;

/// Whether any layer slides; each is named once in `layer_types`.
bool any_layer_slides(const JsonReader& json, std::int64_t layers) {
  bool any = false;
  const std::vector<std::string> types = json.texts("layer_types");
  for (const std::string& type : types) {
    any = any || type == "sliding_attention";
    if (type != "sliding_attention" && type != "full_attention") {
      json.fail("layer_types",
                "holds a kind that is not supported; full_attention and "
                "sliding_attention are");
    }
  }
  if (static_cast<std::int64_t>(types.size()) != layers) {
    json.fail("layer_types", "names " + std::to_string(types.size()) + " layers of " +
                                 std::to_string(layers) + "; one for each");
  }
  return any;
}

/// mistral slides wherever a window is given, the others only where they say so. Which layers do is
/// of no interest: of a model in which not every layer does, no run is longer than the window, see
/// require_positions and, under PyTorch, validate.
void read_sliding_window(const JsonReader& json, ModelConfig& config) {
  const bool used = json.boolean_or("use_sliding_window", config.family == "mistral");
  if (used && !json.is_null("sliding_window")) {
    config.sliding_window = json.integer_or("sliding_window", kDefaultWindow, 1, kMaxPositions);
  }
  if (!json.has("layer_types")) return;
  const bool slides = any_layer_slides(json, config.layers);
  if (slides && !config.sliding_window) {
    json.fail("layer_types", "holds sliding_attention, but no sliding_window is in use; set it");
  }
  if (!slides) config.sliding_window.reset();
}

/// llama says which projections have biases; in the other families that is fixed.
void read_biases(const JsonReader& json, ModelConfig& config) {
  if (config.family == "llama") {
    config.qkv_bias = config.out_bias = json.boolean_or("attention_bias", false);
    config.mlp_bias = json.boolean_or("mlp_bias", false);
    return;
  }
  config.qkv_bias = config.family == "qwen2";
  json.require_boolean("attention_bias", config.qkv_bias);
  json.require_boolean("mlp_bias", false);
}

}  // namespace

ModelConfig read_llama_like(const JsonReader& json) {
  ModelConfig config;
  config.family = json.text("model_type");
  read_heads(json, config, "hidden_size", "num_attention_heads");
  // Left out, transformers takes as many as query heads in llama, but 8 or 32 in the others.
  read_kv_heads(json, config, config.family == "llama");
  read_sizes(json, config, 2048);
  read_activation(json, config, ActivationKind::SwiGlu, "hidden_act", {"silu", "swish"});
  read_norm(json, config, NormKind::RmsNorm, "rms_norm_eps", 1e-6);
  read_rope(json, config);
  read_sliding_window(json, config);
  read_biases(json, config);
  config.tied_head = json.boolean_or("tie_word_embeddings", false);
  config.dropout.attention = read_rate(json, "attention_dropout");
  return config;
}

}  // namespace vramfit
