#include "model/config/limits.h"
#include "model/config/llama_keys.h"
#include "model/config/readers.h"
#include "model/config/shape_keys.h"

namespace vramfit {

ModelConfig read_mistral(const JsonReader& json) {
  ModelConfig config = read_llama_shape(json);
  read_kv_heads(json, config, false);
  // What transformers assumes where the key is left out; null there says none.
  constexpr std::int64_t kDefaultWindow = 4096;
  std::optional<std::int64_t> window;
  if (json.boolean_or("use_sliding_window", true) && !json.is_null("sliding_window")) {
    window = json.integer_or("sliding_window", kDefaultWindow, 1, kMaxPositions);
  }
  read_windows(json, config, window, [](std::int64_t) { return true; });
  return config;
}

}  // namespace vramfit
