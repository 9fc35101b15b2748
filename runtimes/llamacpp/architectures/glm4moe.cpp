#include "runtimes/llamacpp/architectures/architectures.h"
#include "runtimes/llamacpp/base/limits.h"

namespace vramfit::llamacpp {
namespace {

void read_glm4moe(const ArchKeys& keys, Hparams& h) {
  require_experts(keys, h);
  const auto sections = keys.each_or("rope.dimension_sections", 4, 0, 0, kLargestHead);
  h.multi_rope = sections[0] > 0 && sections[1] > 0;
  h.experts_shared = keys.integer("expert_shared_count", 0, kMostExperts);
  h.dense_lead = keys.integer_or("leading_dense_block_count", 0, 0, kMostLayers);
  h.expert_weights_scale = keys.number_or("expert_weights_scale", 0);
  h.expert_weights_norm = keys.boolean_or("expert_weights_norm", false);
  const Gating gating = read_gating(keys);
  h.gating = gating == Gating::None ? Gating::Sigmoid : gating;
  const std::int64_t ffn = expert_ffn(keys, h);
  replace_ffn_by_experts(h, ffn > 0 ? ffn : h.layers.front().ffn / h.experts_used, h.dense_lead);
  h.shared_ffn = h.expert_ffn * h.experts_shared;
}

void convert_glm4moe(const HfConfig& config, ArchWriter& keys) {
  const std::int64_t nextn = config.integer_or({"num_nextn_predict_layers"}, 0, kMostLayers);
  keys.set("block_count", config.layers() + nextn);
  if (nextn > 0) keys.set("nextn_predict_layers", nextn);
  keys.set("rope.dimension_count", config.rotated_dims(0.5));
  keys.set("expert_feed_forward_length", config.integer({"moe_intermediate_size"}, kLargestFfn));
  keys.set("expert_shared_count", config.integer_or({"n_shared_experts"}, 0, kMostExperts));
  keys.set("leading_dense_block_count",
           config.integer_or({"first_k_dense_replace"}, 0, kMostLayers));
  keys.set("expert_gating_func", std::int64_t{2});
  convert_expert_weights(config, keys);
}

void glm4moe_tensors(const Hparams& h, const HfConfig& config, TensorList& list) {
  list.ends(config.truth("tie_word_embeddings", false));
  for (std::size_t i = 0; i < h.layers.size(); ++i) {
    const Layer& layer = h.layers[i];
    list.norm(i, "attn_norm");
    list.qkv(i, Bias{config.truth("attention_bias", false)});
    if (config.truth("use_qk_norm", false)) list.qk_norms(i);
    list.attention_output(i);
    list.norm(i, "post_attention_norm");
    if (layer.experts) {
      list.experts(i, h.expert_ffn);
      list.add(i, "exp_probs_b.bias", {h.experts});
      if (h.shared_ffn > 0) list.shared_experts(i, h.shared_ffn);
    } else {
      list.gated_ffn(i, layer.ffn);
    }
    if (static_cast<std::int64_t>(i) < h.run_layers()) continue;
    list.nextn(i);
    list.linear(i, "nextn.embed_tokens", h.embd, h.vocab);
    list.linear(i, "nextn.shared_head_head", h.embd, h.vocab);
    list.norm(i, "nextn.shared_head_norm");
  }
}

}  // namespace

const Architecture kGlm4Moe = {"glm4moe",
                               {"Glm4MoeForCausalLM", "Glm4vMoeForConditionalGeneration"},
                               read_glm4moe,
                               convert_glm4moe,
                               glm4moe_tensors};

}  // namespace vramfit::llamacpp
