#include "model/config/families.h"
#include "model/config/rope_keys.h"
#include "model/config/shape_keys.h"

namespace vramfit {

ModelConfig read_gemma(const JsonReader& json) {
  ModelConfig config;
  config.family = "gemma";
  read_heads(json, config, "hidden_size", "num_attention_heads", 256);
  read_kv_heads(json, config, false);
  read_sizes(json, config, 8192);
  // The first checkpoints said "gelu" and were run with its tanh approximation: one op either way.
  const std::vector<const char*> gelu = {"gelu_pytorch_tanh", "gelu"};
  read_activation(json, config, ActivationKind::GeGlu, "hidden_act", gelu);
  json.require_text("hidden_activation", gelu);
  json.require_boolean("use_bidirectional_attention", false);
  read_norm(json, config, NormKind::RmsNorm, "rms_norm_eps", 1e-6);
  read_rope(json, config);
  config.qkv_bias = config.out_bias = json.boolean_or("attention_bias", false);
  config.tied_head = json.boolean_or("tie_word_embeddings", true);
  config.dropout.attention = read_rate(json, "attention_dropout");
  return config;
}

}  // namespace vramfit
