#include "runtimes/llamacpp/architectures/architectures.h"
#include "runtimes/llamacpp/base/limits.h"

namespace vramfit::llamacpp {
namespace {

void read_gpt_oss(const ArchKeys& keys, Hparams& h) {
  require_experts(keys, h);
  h.window = keys.integer("attention.sliding_window", 1, kLongestContext);
  read_sliding_pattern(keys, 2, h);
  replace_ffn_by_experts(h, expert_ffn(keys, h), 0);
}

void convert_gpt_oss(const HfConfig& config, ArchWriter& keys) {
  keys.set("attention.sliding_window", config.integer({"sliding_window"}, kLongestContext));
  keys.set("expert_feed_forward_length", config.integer({"intermediate_size"}, kLargestFfn));
}

void gpt_oss_tensors(const Hparams& h, const HfConfig&, TensorList& list) {
  list.ends(false);
  for (std::size_t i = 0; i < h.layers.size(); ++i) {
    list.norm(i, "attn_norm");
    list.qkv(i, Bias::Yes);
    list.add(i, "attn_sinks.weight", {h.layers[i].heads});
    list.attention_output(i, Bias::Yes);
    list.norm(i, "post_attention_norm");
    list.experts(i, h.expert_ffn);
    list.add(i, "ffn_gate_inp.bias", {h.experts});
    list.add(i, "ffn_gate_exps.bias", {h.expert_ffn, h.experts});
    list.add(i, "ffn_up_exps.bias", {h.expert_ffn, h.experts});
    list.add(i, "ffn_down_exps.bias", {h.embd, h.experts});
  }
}

}  // namespace

const Architecture kGptOss = {
    "gpt-oss", {"GptOssForCausalLM"}, read_gpt_oss, convert_gpt_oss, gpt_oss_tensors};

}  // namespace vramfit::llamacpp
