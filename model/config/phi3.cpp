#include "model/config/limits.h"
#include "model/config/llama_keys.h"
#include "model/config/readers.h"
#include "model/config/rope_keys.h"
#include "model/config/shape_keys.h"

namespace vramfit {

ModelConfig read_phi3(const JsonReader& json) {
  RopeKeys rope;
  rope.may_be_partial = true;
  ModelConfig config = read_llama_shape(json, std::nullopt, rope);
  read_kv_heads(json, config, true);
  read_norm(json, config, NormKind::RmsNorm, "rms_norm_eps", 1e-5);
  std::optional<std::int64_t> window;
  if (json.has("sliding_window")) window = json.integer("sliding_window", 1, kMaxPositions);
  read_windows(json, config, window, [](std::int64_t) { return true; });
  config.dropout.residual = read_rate(json, "resid_pdrop");
  return config;
}

}  // namespace vramfit
