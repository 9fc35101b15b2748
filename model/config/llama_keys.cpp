#include "model/config/llama_keys.h"

#include <algorithm>

#include "model/config/limits.h"
#include "model/config/shape_keys.h"

namespace vramfit {
namespace {

/// `layer_types`, which names the kind of every layer.
std::vector<bool> layers_that_slide(const JsonReader& json, std::int64_t layers) {
  std::vector<bool> slide;
  for (const std::string& type : json.texts("layer_types")) {
    slide.push_back(type == "sliding_attention");
    if (type != "sliding_attention" && type != "full_attention") {
      json.fail("layer_types",
                "holds a kind that is not supported; full_attention and "
                "sliding_attention are");
    }
  }
  if (static_cast<std::int64_t>(slide.size()) != layers) {
    json.fail("layer_types", "names " + std::to_string(slide.size()) + " layers of " +
                                 std::to_string(layers) + "; one for each");
  }
  return slide;
}

}  // namespace

ModelConfig read_llama_shape(const JsonReader& json, std::optional<std::int64_t> head_dim,
                             const RopeKeys& rope) {
  ModelConfig config;
  read_heads(json, config, "hidden_size", "num_attention_heads", head_dim);
  read_sizes(json, config, 2048);
  read_activation(json, config, ActivationKind::SwiGlu, "hidden_act", {"silu", "swish"});
  read_norm(json, config, NormKind::RmsNorm, "rms_norm_eps", 1e-6);
  read_rope(json, config, rope);
  config.tied_head = json.boolean_or("tie_word_embeddings", false);
  config.dropout.attention = read_rate(json, "attention_dropout");
  return config;
}

void read_windows(const JsonReader& json, ModelConfig& config, std::optional<std::int64_t> window,
                  const std::function<bool(std::int64_t layer)>& slides) {
  std::vector<bool> slide;
  if (json.has("layer_types")) {
    slide = layers_that_slide(json, config.layers);
  } else {
    for (std::int64_t i = 0; i < config.layers; ++i) slide.push_back(window && slides(i));
  }
  if (std::none_of(slide.begin(), slide.end(), [](bool s) { return s; })) return;
  if (!window) {
    json.fail("layer_types", "holds sliding_attention, but no sliding_window is in use; set it");
  }
  config.sliding_window = window;
  config.sliding_layers = std::move(slide);
}

}  // namespace vramfit
