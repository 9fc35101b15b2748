#include "runtimes/llamacpp/architectures/architectures.h"
#include "runtimes/llamacpp/base/limits.h"

namespace vramfit::llamacpp {
namespace {

void read_falcon(const ArchKeys&, Hparams&) {}

/// Falcon's first decoder shares one head of keys and values, whatever num_kv_heads says.
void convert_falcon(const HfConfig& config, ArchWriter& keys) {
  const bool one_head =
      config.truth("multi_query", true) && !config.truth("new_decoder_architecture", false);
  keys.set("context_length", std::int64_t{2048});  // not in configs
  keys.set("feed_forward_length", 4 * config.width());
  keys.set(
      "attention.head_count_kv",
      one_head ? std::int64_t{1} : config.integer_or({"num_kv_heads", "n_head_kv"}, 1, kMostHeads));
}

void add_biased_norm(const std::string& name, std::size_t i, const Hparams& h, TensorList& list) {
  list.norm(i, name);
  list.add(i, name + ".bias", {h.embd});
}

/// Checkpoints of tied heads hold these all the same.
void falcon_tensors(const Hparams& h, const HfConfig& config, TensorList& list) {
  list.ends(false);
  list.add("output_norm.bias", {h.embd});
  const bool two_norms = config.truth("new_decoder_architecture", false);
  for (std::size_t i = 0; i < h.layers.size(); ++i) {
    const Layer& layer = h.layers[i];
    add_biased_norm("attn_norm", i, h, list);
    if (two_norms) add_biased_norm("attn_norm_2", i, h, list);
    list.linear(i, "attn_qkv", h.embd, h.embd + h.k_width(layer) + h.v_width(layer));
    list.attention_output(i);
    list.linear(i, "ffn_up", h.embd, layer.ffn);
    list.linear(i, "ffn_down", layer.ffn, h.embd);
  }
}

}  // namespace

const Architecture kFalcon = {
    "falcon", {"FalconForCausalLM", "RWForCausalLM"}, read_falcon, convert_falcon, falcon_tensors};

}  // namespace vramfit::llamacpp
