#include "runtimes/llamacpp/architectures/architectures.h"
#include "runtimes/llamacpp/base/limits.h"

namespace vramfit::llamacpp {
namespace {

void read_olmo2(const ArchKeys& keys, Hparams& h) {
  h.window = sliding_window(keys);
  if (h.window > 0) read_sliding_pattern(keys, 4, h);
}

/// Olmo3 slides, by default in all but every fourth layer.
void convert_olmo2(const HfConfig& config, ArchWriter& keys) {
  if (!config.json().has("sliding_window")) return;
  keys.set("attention.sliding_window", config.integer({"sliding_window"}, kLongestContext));
  std::vector<std::int64_t> slides;
  if (config.json().has("layer_types")) {
    slides = config.layers_of_type("sliding_attention");
  } else {
    for (std::int64_t i = 0; i < config.layers(); ++i) slides.push_back((i + 1) % 4 != 0 ? 1 : 0);
  }
  keys.each("attention.sliding_window_pattern", std::move(slides));
}

void olmo2_tensors(const Hparams& h, const HfConfig&, TensorList& list) {
  list.ends(false);
  for (std::size_t i = 0; i < h.layers.size(); ++i) {
    list.qkv(i);
    list.norm(i, "attn_q_norm");
    list.norm(i, "attn_k_norm", h.k_width(h.layers[i]));
    list.attention_output(i);
    list.norm(i, "post_attention_norm");
    list.norm(i, "post_ffw_norm");
    list.gated_ffn(i, h.layers[i].ffn);
  }
}

}  // namespace

const Architecture kOlmo2 = {
    "olmo2", {"Olmo2ForCausalLM", "Olmo3ForCausalLM"}, read_olmo2, convert_olmo2, olmo2_tensors};

}  // namespace vramfit::llamacpp
