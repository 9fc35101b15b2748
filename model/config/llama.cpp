#include "model/config/llama_keys.h"
#include "model/config/readers.h"
#include "model/config/shape_keys.h"

namespace vramfit {

ModelConfig read_llama(const JsonReader& json) {
  ModelConfig config = read_llama_shape(json);
  read_kv_heads(json, config, true);
  config.qkv_bias = config.out_bias = json.boolean_or("attention_bias", false);
  config.mlp_bias = json.boolean_or("mlp_bias", false);
  read_windows(json, config, {}, {});
  return config;
}

}  // namespace vramfit
