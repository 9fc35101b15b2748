#include "model/config/readers.h"
#include "model/config/rope_keys.h"
#include "model/config/shape_keys.h"

namespace vramfit {

ModelConfig read_phi(const JsonReader& json) {
  ModelConfig config;
  read_heads(json, config, "hidden_size", "num_attention_heads");
  read_kv_heads(json, config, true);
  read_sizes(json, config, 2048);
  read_activation(json, config, ActivationKind::Gelu, "hidden_act",
                  {"gelu_new", "gelu", "gelu_fast", "gelu_pytorch_tanh"});
  read_norm(json, config, NormKind::LayerNorm, "layer_norm_eps", 1e-5);
  RopeKeys rope;
  rope.default_partial = 0.5;
  rope.may_be_partial = true;
  read_rope(json, config, rope);
  config.residual = Residual::ParallelOneNorm;
  config.qkv_bias = config.out_bias = config.mlp_bias = config.head_bias = true;
  config.qk_norm = json.boolean_or("qk_layernorm", false) ? QkNorm::Head : QkNorm::None;
  config.tied_head = json.boolean_or("tie_word_embeddings", false);
  config.dropout = {read_rate(json, "embd_pdrop"), read_rate(json, "attention_dropout"),
                    read_rate(json, "resid_pdrop")};
  return config;
}

}  // namespace vramfit
