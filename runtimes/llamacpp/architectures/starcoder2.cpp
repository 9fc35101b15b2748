#include "runtimes/llamacpp/architectures/architectures.h"

namespace vramfit::llamacpp {
namespace {

void read_starcoder2(const ArchKeys&, Hparams&) {}

void convert_starcoder2(const HfConfig&, ArchWriter&) {}

void starcoder2_tensors(const Hparams& h, const HfConfig& config, TensorList& list) {
  list.ends(config.truth("tie_word_embeddings", true));
  list.add("output_norm.bias", {h.embd});
  for (std::size_t i = 0; i < h.layers.size(); ++i) {
    const Layer& layer = h.layers[i];
    list.norm(i, "attn_norm");
    list.add(i, "attn_norm.bias", {h.embd});
    list.qkv(i, Bias::Yes);
    list.attention_output(i, Bias::Yes);
    list.norm(i, "ffn_norm");
    list.add(i, "ffn_norm.bias", {h.embd});
    list.linear(i, "ffn_up", h.embd, layer.ffn, Bias::Yes);
    list.linear(i, "ffn_down", layer.ffn, h.embd, Bias::Yes);
  }
}

}  // namespace

const Architecture kStarcoder2 = {"starcoder2",
                                  {"Starcoder2ForCausalLM"},
                                  read_starcoder2,
                                  convert_starcoder2,
                                  starcoder2_tensors};

}  // namespace vramfit::llamacpp
