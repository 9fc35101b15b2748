#include "model/config/limits.h"
#include "model/config/llama_keys.h"
#include "model/config/readers.h"
#include "model/config/shape_keys.h"

namespace vramfit {

ModelConfig read_granite(const JsonReader& json) {
  ModelConfig config = read_llama_shape(json);
  read_kv_heads(json, config, true);
  read_windows(json, config, {}, {});
  config.qkv_bias = config.out_bias = json.boolean_or("attention_bias", false);
  config.mlp_bias = json.boolean_or("mlp_bias", false);
  // Multiplied by always, so that their values leave memory as it is.
  for (const char* key :
       {"embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"}) {
    json.number_or(key, 1, 0, kMaxFactor);
  }
  return config;
}

}  // namespace vramfit
