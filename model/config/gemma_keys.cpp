#include "model/config/gemma_keys.h"

#include "model/config/limits.h"
#include "model/config/llama_keys.h"
#include "model/config/shape_keys.h"

namespace vramfit {

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

}  // namespace vramfit
