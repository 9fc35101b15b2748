#include "model/config/llama_keys.h"
#include "model/config/readers.h"
#include "model/config/shape_keys.h"

namespace vramfit {

ModelConfig read_olmo2(const JsonReader& json) {
  ModelConfig config = read_llama_shape(json);
  read_kv_heads(json, config, true);
  read_norm(json, config, NormKind::RmsNorm, "rms_norm_eps", 1e-5);
  read_windows(json, config, {}, {});
  config.qkv_bias = config.out_bias = json.boolean_or("attention_bias", false);
  config.block_norms = BlockNorms::After;
  config.qk_norm = QkNorm::Width;
  return config;
}

}  // namespace vramfit
