#include "runtimes/llamacpp/architectures/architectures.h"
#include "runtimes/llamacpp/base/limits.h"

namespace vramfit::llamacpp {
namespace {

void read_dense_qwen(const ArchKeys&, Hparams&) {}

void convert_dense_qwen(const HfConfig&, ArchWriter&) {}

void qwen2_tensors(const Hparams& h, const HfConfig& config, TensorList& list) {
  list.ends(config.truth("tie_word_embeddings", false));
  for (std::size_t i = 0; i < h.layers.size(); ++i) {
    list.norm(i, "attn_norm");
    list.qkv(i, Bias::Yes);
    list.attention_output(i);
    list.norm(i, "ffn_norm");
    list.gated_ffn(i, h.layers[i].ffn);
  }
}

void qwen3_tensors(const Hparams& h, const HfConfig& config, TensorList& list) {
  list.ends(config.truth("tie_word_embeddings", false));
  for (std::size_t i = 0; i < h.layers.size(); ++i) {
    list.norm(i, "attn_norm");
    list.qkv(i, Bias{config.truth("attention_bias", false)});
    list.qk_norms(i);
    list.attention_output(i);
    list.norm(i, "ffn_norm");
    if (h.layers[i].experts) {
      list.experts(i, h.expert_ffn);
    } else {
      list.gated_ffn(i, h.layers[i].ffn);
    }
  }
}

void read_qwen3moe(const ArchKeys& keys, Hparams& h) {
  require_experts(keys, h);
  const std::int64_t ffn = expert_ffn(keys, h);
  replace_ffn_by_experts(h, ffn > 0 ? ffn : h.layers.front().ffn / h.experts_used, 0);
}

void convert_qwen3moe(const HfConfig& config, ArchWriter& keys) {
  keys.set("expert_feed_forward_length", config.integer({"moe_intermediate_size"}, kLargestFfn));
}

}  // namespace

const Architecture kQwen2 = {
    "qwen2",
    {"Qwen2ForCausalLM", "Qwen2Model", "Qwen2AudioForConditionalGeneration", "KORMoForCausalLM"},
    read_dense_qwen,
    convert_dense_qwen,
    qwen2_tensors};

const Architecture kQwen3 = {"qwen3",
                             {"Qwen3ForCausalLM", "Qwen3Model"},
                             read_dense_qwen,
                             convert_dense_qwen,
                             qwen3_tensors};

const Architecture kQwen3Moe = {
    "qwen3moe", {"Qwen3MoeForCausalLM"}, read_qwen3moe, convert_qwen3moe, qwen3_tensors};

}  // namespace vramfit::llamacpp
