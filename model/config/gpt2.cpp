#include "model/config/limits.h"
#include "model/config/readers.h"
#include "model/config/shape_keys.h"

namespace vramfit {

ModelConfig read_gpt2(const JsonReader& json) {
  ModelConfig config;
  read_heads(json, config, "n_embd", "n_head");
  config.kv_heads = config.heads;
  config.layers = json.integer("n_layer", 1, kMaxLayers);
  config.ffn = json.integer_or("n_inner", 4 * config.hidden, 1, kMaxFfn);
  config.vocab = json.integer("vocab_size", 1, kMaxVocab);
  config.max_positions = json.integer("n_positions", 1, kMaxPositions);
  read_activation(json, config, ActivationKind::Gelu, "activation_function",
                  {"gelu_new", "gelu_pytorch_tanh"});
  read_norm(json, config, NormKind::LayerNorm, "layer_norm_epsilon", 1e-5);
  config.qkv_bias = config.out_bias = config.mlp_bias = true;
  config.tied_head = json.boolean_or("tie_word_embeddings", true);
  config.dropout = {read_rate(json, "embd_pdrop", 0.1), read_rate(json, "attn_pdrop", 0.1),
                    read_rate(json, "resid_pdrop", 0.1)};
  return config;
}

}  // namespace vramfit
