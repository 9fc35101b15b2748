#include "runtimes/llamacpp/architectures/architectures.h"
#include "runtimes/llamacpp/base/limits.h"

namespace vramfit::llamacpp {
namespace {

/// Those that were converted before files told: which have queries without a latent, and which
/// function gates experts.
bool is_lite(const Hparams& h) {
  const std::int64_t layers = h.run_layers();
  return layers == 26 || layers == 27 || (layers == 48 && h.vocab == 128256);
}

Gating read_deepseek_gating(const ArchKeys& keys, const Hparams& h) {
  const Gating gating = read_gating(keys);
  if (gating != Gating::None) return gating;
  const std::int64_t layers = h.run_layers();
  const bool glm_lite = (layers == 47 || layers == 48) && h.vocab == 154880;
  return glm_lite ? Gating::Sigmoid : Gating::Softmax;
}

void read_deepseek2(const ArchKeys& keys, Hparams& h) {
  const auto layers = static_cast<std::int64_t>(h.layers.size());
  h.dense_lead = keys.integer_or("leading_dense_block_count", 0, 0, layers);
  if (!is_lite(h)) h.lora_q = keys.integer("attention.q_lora_rank", 1, kLargestHead);
  h.lora_kv = keys.integer("attention.kv_lora_rank", 1, kLargestHead);
  h.head_k_mla = keys.integer_or("attention.key_length_mla", 0, 0, kLargestHead);
  h.head_v_mla = keys.integer_or("attention.value_length_mla", 0, 0, kLargestHead);
  h.experts_shared = keys.integer("expert_shared_count", 0, kMostExperts);
  h.expert_weights_scale = keys.number_or("expert_weights_scale", 0);
  h.expert_weights_norm = keys.boolean_or("expert_weights_norm", false);
  h.gating = read_deepseek_gating(keys, h);
  h.attention_temperature = keys.number_or("attention.temperature_scale", 0);
  replace_ffn_by_experts(h, expert_ffn(keys, h), h.dense_lead);
  h.shared_ffn = h.expert_ffn * h.experts_shared;
  if ((h.head_k_mla == 0) != (h.head_v_mla == 0)) {
    keys.fail("attention.value_length_mla", "without its other; both lengths, or none");
  }
  if ((h.latent() ? h.head_k_mla : h.head_k) <= h.rot) {
    keys.fail("rope.dimension_count", std::to_string(h.rot) + "; less than a key's length");
  }
  if (h.dense_lead < layers) require_experts(keys, h);
}

void convert_deepseek2(const HfConfig& config, ArchWriter& keys) {
  const auto size = [&](const char* key) { return config.integer({key}, kLargestHead); };
  const std::int64_t lora_kv = config.integer_or({"kv_lora_rank"}, 512, kLargestHead);
  const bool mixture = config.json().has("n_routed_experts");
  keys.set("attention.head_count_kv", std::int64_t{1});  // latent attention is of one group
  keys.set(
      "leading_dense_block_count",
      config.integer_or({"first_k_dense_replace"}, mixture ? 0 : config.layers(), kMostLayers));
  if (config.json().has("q_lora_rank")) keys.set("attention.q_lora_rank", size("q_lora_rank"));
  const std::int64_t rope = size("qk_rope_head_dim");
  keys.set("attention.kv_lora_rank", lora_kv);
  keys.set("attention.key_length", lora_kv + rope);
  keys.set("attention.value_length", lora_kv);
  keys.set("attention.key_length_mla", size("qk_nope_head_dim") + rope);
  keys.set("attention.value_length_mla", size("v_head_dim"));
  keys.set("expert_feed_forward_length",
           config.integer({"moe_intermediate_size", "intermediate_size"}, kLargestFfn));
  keys.set("expert_shared_count", config.integer_or({"n_shared_experts"}, 0, kMostExperts));
  convert_expert_weights(config, keys);
  keys.set("rope.dimension_count", rope);
}

void deepseek2_tensors(const Hparams& h, const HfConfig& config, TensorList& list) {
  list.ends(config.truth("tie_word_embeddings", false));
  const bool corrected = config.json().text_or("topk_method", "") == "noaux_tc";
  for (std::size_t i = 0; i < h.layers.size(); ++i) {
    const Layer& layer = h.layers[i];
    list.norm(i, "attn_norm");
    if (h.lora_q > 0) {
      list.linear(i, "attn_q_a", h.embd, h.lora_q);
      list.norm(i, "attn_q_a_norm", h.lora_q);
      list.linear(i, "attn_q_b", h.lora_q, layer.heads * h.head_k_mla);
    } else {
      list.linear(i, "attn_q", h.embd, layer.heads * h.head_k_mla);
    }
    list.linear(i, "attn_kv_a_mqa", h.embd, h.lora_kv + h.rot);
    list.norm(i, "attn_kv_a_norm", h.lora_kv);
    list.add(i, "attn_k_b.weight", {h.head_k_mla - h.rot, h.lora_kv, layer.heads});
    list.add(i, "attn_v_b.weight", {h.lora_kv, h.head_v_mla, layer.heads});
    list.linear(i, "attn_output", layer.heads * h.head_v_mla, h.embd);
    list.norm(i, "ffn_norm");
    if (layer.experts) {
      list.experts(i, h.expert_ffn);
      if (corrected) list.add(i, "exp_probs_b.bias", {h.experts});
      list.shared_experts(i, h.shared_ffn);
    } else {
      list.gated_ffn(i, layer.ffn);
    }
  }
}

}  // namespace

const Architecture kDeepseek2 = {
    "deepseek2",
    {"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "KimiVLForConditionalGeneration",
     "KimiK25ForConditionalGeneration", "YoutuForCausalLM"},
    read_deepseek2,
    convert_deepseek2,
    deepseek2_tensors};

}  // namespace vramfit::llamacpp
