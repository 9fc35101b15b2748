#include "model/config/llama_keys.h"
#include "model/config/readers.h"
#include "model/config/shape_keys.h"

namespace vramfit {

ModelConfig read_qwen2(const JsonReader& json) {
  ModelConfig config = read_llama_shape(json);
  read_kv_heads(json, config, false);
  config.qkv_bias = true;
  read_qwen_windows(json, config);
  return config;
}

}  // namespace vramfit
