#include "runtimes/llamacpp/architectures/architecture.h"

#include <algorithm>

#include "runtimes/llamacpp/architectures/architectures.h"
#include "runtimes/llamacpp/base/limits.h"

namespace vramfit::llamacpp {

const std::vector<const Architecture*>& architectures() {
  static const std::vector<const Architecture*> all = {
      &kLlama,      &kMistral3, &kQwen2,  &kQwen3,      &kQwen3Moe,  &kQwen3Next, &kGemma2,
      &kGemma3,     &kGemma4,   &kPhi3,   &kGptOss,     &kDeepseek2, &kGlm4Moe,   &kGranite,
      &kGraniteMoe, &kOlmo2,    &kFalcon, &kStarcoder2, &kCommandR,  &kLfm2,      &kLfm2Moe};
  return all;
}

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture* arch : architectures()) {
    if (arch->name == name) return arch;
  }
  return nullptr;
}

const Architecture* find_converted(std::string_view model_class) {
  for (const Architecture* arch : architectures()) {
    const auto& classes = arch->hugging_face;
    if (std::find(classes.begin(), classes.end(), model_class) != classes.end()) return arch;
  }
  return nullptr;
}

void read_sliding_pattern(const ArchKeys& keys, std::int64_t period, Hparams& hparams) {
  constexpr const char* kKey = "attention.sliding_window_pattern";
  const auto run = static_cast<std::size_t>(hparams.run_layers());
  if (keys.is_array(kKey)) {
    const auto slides = keys.each_or(kKey, hparams.layers.size(), 0, 0, 1);
    for (std::size_t i = 0; i < slides.size(); ++i) hparams.layers[i].sliding = slides[i] != 0;
    return;
  }
  const auto every = static_cast<std::size_t>(keys.integer_or(kKey, period, 0, kMostLayers));
  // set_swa_pattern: the last of each `every` is dense; 0: none is.
  for (std::size_t i = 0; i < run; ++i) {
    hparams.layers[i].sliding = every == 0 || i % every < every - 1;
  }
}

std::int64_t sliding_window(const ArchKeys& keys) {
  return keys.integer_or("attention.sliding_window", 0, 0, kLongestContext);
}

std::int64_t expert_ffn(const ArchKeys& keys, const Hparams& hparams) {
  return keys.each_or("expert_feed_forward_length", hparams.layers.size(), 0, 0, kLargestFfn)
      .front();
}

void require_experts(const ArchKeys& keys, const Hparams& hparams) {
  if (hparams.experts == 0) keys.fail("expert_count", "0 or missing; 1 or more");
}

void replace_ffn_by_experts(Hparams& hparams, std::int64_t ffn, std::int64_t first) {
  hparams.expert_ffn = ffn;
  for (auto i = static_cast<std::size_t>(first); i < hparams.layers.size(); ++i) {
    hparams.layers[i].experts = true;
    hparams.layers[i].ffn = 0;
  }
}

Gating read_gating(const ArchKeys& keys) {
  return static_cast<Gating>(keys.integer_or("expert_gating_func", 0, 0, 3));
}

void convert_expert_weights(const HfConfig& config, ArchWriter& keys) {
  if (const auto scale = config.number("routed_scaling_factor")) {
    keys.set("expert_weights_scale", *scale);
  }
  if (config.truth("norm_topk_prob", false)) keys.set("expert_weights_norm", true);
}

void add_llama3_rope(const Hparams& hparams, const HfConfig& config, TensorList& list) {
  if (config.rope_type() == "llama3") list.add("rope_freqs.weight", {hparams.head_k / 2});
}

}  // namespace vramfit::llamacpp
