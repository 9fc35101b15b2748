#include "runtimes/llamacpp/architectures/architectures.h"

namespace vramfit::llamacpp {
namespace {

/// Its sliding window is switched off in llama.cpp.
void read_phi3(const ArchKeys&, Hparams&) {}

void convert_phi3(const HfConfig& config, ArchWriter& keys) {
  keys.set("rope.dimension_count", config.rotated_dims(1.0));
}

void phi3_tensors(const Hparams& h, const HfConfig& config, TensorList& list) {
  list.ends(config.truth("tie_word_embeddings", false));
  if (config.rope().has("long_factor")) {
    list.add("rope_factors_long.weight", {h.rot / 2});
    list.add("rope_factors_short.weight", {h.rot / 2});
  }
  for (std::size_t i = 0; i < h.layers.size(); ++i) {
    const Layer& layer = h.layers[i];
    list.norm(i, "attn_norm");
    list.linear(i, "attn_qkv", h.embd, h.embd + h.k_width(layer) + h.v_width(layer));
    list.attention_output(i);
    list.norm(i, "ffn_norm");
    list.linear(i, "ffn_up", h.embd, 2 * layer.ffn);
    list.linear(i, "ffn_down", layer.ffn, h.embd);
  }
}

}  // namespace

const Architecture kPhi3 = {"phi3", {"Phi3ForCausalLM"}, read_phi3, convert_phi3, phi3_tensors};

}  // namespace vramfit::llamacpp
