#include "runtimes/llamacpp/architectures/architectures.h"
#include "runtimes/llamacpp/base/limits.h"

namespace vramfit::llamacpp {
namespace {

/// From so many layers on queries and keys are normalised (Command R+).
constexpr std::size_t kNormalisedFrom = 64;

void read_command_r(const ArchKeys& keys, Hparams& h) {
  h.logit_scale = keys.number_or("logit_scale", 0);
}

void convert_command_r(const HfConfig& config, ArchWriter& keys) {
  keys.set("context_length",
           config.integer({"model_max_length", "max_position_embeddings"}, kLongestContext));
  keys.set("logit_scale", config.number("logit_scale").value_or(0.0625));
}

void command_r_tensors(const Hparams& h, const HfConfig&, TensorList& list) {
  list.ends(true);
  for (std::size_t i = 0; i < h.layers.size(); ++i) {
    const Layer& layer = h.layers[i];
    list.norm(i, "attn_norm");
    list.qkv(i);
    if (h.layers.size() >= kNormalisedFrom) {
      list.add(i, "attn_q_norm.weight", {h.head_k, layer.heads});
      list.add(i, "attn_k_norm.weight", {h.head_k, layer.kv_heads});
    }
    list.attention_output(i);
    list.gated_ffn(i, layer.ffn);
  }
}

}  // namespace

const Architecture kCommandR = {
    "command-r", {"CohereForCausalLM"}, read_command_r, convert_command_r, command_r_tensors};

}  // namespace vramfit::llamacpp
