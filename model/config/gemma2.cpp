#include "model/config/gemma_keys.h"
#include "model/config/limits.h"
#include "model/config/readers.h"
#include "model/config/rope_keys.h"

namespace vramfit {
namespace {

/// On where the key is left out, off where it is null.
bool is_on(const JsonReader& json, const char* key) {
  json.number_or(key, 1, 0, kMaxFactor);
  return !json.is_null(key);
}

}  // namespace

ModelConfig read_gemma2(const JsonReader& json) {
  ModelConfig config = read_gemma_shape(json);
  read_rope(json, config);
  read_gemma2_layers(json, config, 2);
  config.scores_softcap = is_on(json, "attn_logit_softcapping");
  config.logits_softcap = is_on(json, "final_logit_softcapping");
  return config;
}

}  // namespace vramfit
