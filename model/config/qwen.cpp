#include "model/config/limits.h"
#include "model/config/llama_keys.h"
#include "model/config/readers.h"
#include "model/config/shape_keys.h"

// qwen2 and qwen3.
namespace vramfit {
namespace {

/// A window where `use_sliding_window` says so, for the last layers.
void read_qwen_windows(const JsonReader& json, ModelConfig& config) {
  constexpr std::int64_t kDefaultWindow = 4096;
  constexpr std::int64_t kDefaultFullLayers = 28;
  std::optional<std::int64_t> window;
  if (json.boolean_or("use_sliding_window", false) && !json.is_null("sliding_window")) {
    window = json.integer_or("sliding_window", kDefaultWindow, 1, kMaxPositions);
  }
  const std::int64_t full =
      json.integer_or("max_window_layers", kDefaultFullLayers, 0, kMaxPositions);
  read_windows(json, config, window, [full](std::int64_t layer) { return layer >= full; });
}

}  // namespace

ModelConfig read_qwen2(const JsonReader& json) {
  ModelConfig config = read_llama_shape(json);
  read_kv_heads(json, config, false);
  config.qkv_bias = true;
  read_qwen_windows(json, config);
  return config;
}

ModelConfig read_qwen3(const JsonReader& json) {
  ModelConfig config = read_llama_shape(json, 128);
  read_kv_heads(json, config, false);
  config.qkv_bias = config.out_bias = json.boolean_or("attention_bias", false);
  config.qk_norm = QkNorm::Head;
  read_qwen_windows(json, config);
  return config;
}

}  // namespace vramfit
