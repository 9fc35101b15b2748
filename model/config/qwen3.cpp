#include "model/config/llama_keys.h"
#include "model/config/readers.h"
#include "model/config/shape_keys.h"

namespace vramfit {

ModelConfig read_qwen3(const JsonReader& json) {
  ModelConfig config = read_llama_shape(json, 128);
  read_kv_heads(json, config, false);
  config.qkv_bias = config.out_bias = json.boolean_or("attention_bias", false);
  config.qk_norm = QkNorm::Head;
  read_qwen_windows(json, config);
  return config;
}

}  // namespace vramfit
