#include "model/config/readers.h"
#include "model/config/rope_keys.h"
#include "model/config/shape_keys.h"

namespace vramfit {

ModelConfig read_gpt_neox(const JsonReader& json) {
  ModelConfig config;
  read_heads(json, config, "hidden_size", "num_attention_heads");
  config.kv_heads = config.heads;
  read_sizes(json, config, 2048);
  read_activation(json, config, ActivationKind::Gelu, "hidden_act",
                  {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"});
  read_norm(json, config, NormKind::LayerNorm, "layer_norm_eps", 1e-5);
  read_rope(json, config, {"rotary_emb_base", "rotary_pct", 0.25, true});
  config.residual =
      json.boolean_or("use_parallel_residual", true) ? Residual::Parallel : Residual::Sequential;
  config.qkv_bias = config.out_bias = json.boolean_or("attention_bias", true);
  config.mlp_bias = true;
  config.tied_head = json.boolean_or("tie_word_embeddings", false);
  const double hidden = read_rate(json, "hidden_dropout");
  config.dropout = {hidden, read_rate(json, "attention_dropout"), hidden};
  return config;
}

}  // namespace vramfit
