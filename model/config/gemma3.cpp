#include "model/config/gemma_keys.h"
#include "model/config/limits.h"
#include "model/config/readers.h"
#include "model/config/rope_keys.h"

namespace vramfit {
namespace {

/// Frequencies of layers that slide and of the others, in two ways of writing them. Only the
/// others' are kept.
void read_gemma3_rope(const JsonReader& json, ModelConfig& config) {
  Rope rope;
  rope.theta = json.number_or("rope_theta", 1e6, 1, kMaxTheta);
  json.number_or("rope_local_base_freq", 1e4, 1, kMaxTheta);
  if (const auto scaling = json.object("rope_scaling")) read_rope_parameters(*scaling, rope);
  if (const auto by_kind = json.object("rope_parameters")) {
    Rope sliding;
    if (const auto own = by_kind->object("sliding_attention")) read_rope_parameters(*own, sliding);
    if (const auto own = by_kind->object("full_attention")) read_rope_parameters(*own, rope);
  }
  config.rope = rope;
}

}  // namespace

ModelConfig read_gemma3(const JsonReader& json) {
  constexpr std::int64_t kDefaultPattern = 6;
  ModelConfig config = read_gemma_shape(json);
  read_gemma3_rope(json, config);
  read_gemma2_layers(json, config,
                     json.integer_or("sliding_window_pattern", kDefaultPattern, 1, kMaxLayers));
  config.qk_norm = QkNorm::Head;
  // attn_logit_softcapping reaches no attention function.
  json.number_or("final_logit_softcapping", 1, 0, kMaxFactor);
  config.logits_softcap = json.has("final_logit_softcapping");
  return config;
}

}  // namespace vramfit
