#include "runtimes/llamacpp/architectures/architectures.h"
#include "runtimes/llamacpp/base/limits.h"

namespace vramfit::llamacpp {
namespace {

void read_gemma4(const ArchKeys& keys, Hparams& h) {
  const auto layers = static_cast<std::int64_t>(h.layers.size());
  if (!keys.is_array("attention.sliding_window_pattern")) {
    keys.fail("attention.sliding_window_pattern", "missing; whether each layer slides");
  }
  read_sliding_pattern(keys, 0, h);
  h.window = keys.integer("attention.sliding_window", 1, kLongestContext);
  h.kv_from_start = layers - keys.integer_or("attention.shared_kv_layers", 0, 0, layers);
  h.attention_scale = 1;
  h.embd_per_layer = keys.integer("embedding_length_per_layer_input", 0, kLargestHead);
  h.final_softcap = keys.number_or("final_logit_softcapping", 30);
  h.expert_ffn = expert_ffn(keys, h);
  for (Layer& layer : h.layers) layer.experts = h.experts > 0;
  if (h.head_k != h.head_v || h.head_k_swa != h.head_v_swa) {
    keys.fail("attention.value_length", "not as long as keys, as gemma4 has them");
  }
}

std::vector<std::int64_t> each_layer(const std::vector<std::int64_t>& slides, std::int64_t sliding,
                                     std::int64_t full) {
  std::vector<std::int64_t> each;
  for (const std::int64_t slide : slides) each.push_back(slide != 0 ? sliding : full);
  return each;
}

/// Gemma4Model, which writes what Gemma3Model does, and the heads of layers that do not slide.
void convert_gemma4(const HfConfig& config, ArchWriter& keys) {
  const std::int64_t layers = config.layers();
  const std::int64_t shared = config.integer_or({"num_kv_shared_layers"}, 0, layers);
  const std::vector<std::int64_t> slides = config.layers_of_type("sliding_attention");
  const std::int64_t head = config.integer({"head_dim"}, kLargestHead);
  const std::int64_t full_head = config.integer({"global_head_dim"}, kLargestHead);
  const std::int64_t kv_heads = config.integer({"num_key_value_heads"}, kMostHeads);
  const std::int64_t full_kv_heads =
      config.integer_or({"num_global_key_value_heads"}, kv_heads, kMostHeads);
  keys.set("attention.sliding_window", config.integer({"sliding_window"}, kLongestContext));
  keys.each("attention.sliding_window_pattern", slides);
  keys.set("attention.shared_kv_layers", shared);
  keys.set("embedding_length_per_layer_input",
           config.integer_or({"hidden_size_per_layer_input"}, 0, kLargestHead));
  keys.each("attention.head_count_kv", each_layer(slides, kv_heads, full_kv_heads));
  for (const char* key :
       {"attention.key_length", "attention.value_length", "rope.dimension_count"}) {
    keys.set(key, full_head);
  }
  for (const char* key :
       {"attention.key_length_swa", "attention.value_length_swa", "rope.dimension_count_swa"}) {
    keys.set(key, head);
  }
  if (const char* key = config.first({"expert_intermediate_size", "moe_intermediate_size"})) {
    keys.set("expert_feed_forward_length", config.integer({key}, kLargestFfn));
  }
  if (const auto cap = config.number("final_logit_softcapping"); cap && *cap != 0) {
    keys.set("final_logit_softcapping", *cap);
  }
  if (!config.truth("use_double_wide_mlp", false)) return;
  const std::int64_t ffn = config.integer({"intermediate_size"}, kLargestFfn / 2);
  std::vector<std::int64_t> each(static_cast<std::size_t>(layers), ffn);
  for (std::size_t i = static_cast<std::size_t>(layers - shared); i < each.size(); ++i) {
    each[i] = 2 * ffn;
  }
  keys.each("feed_forward_length", std::move(each));
}

void add_router(std::size_t i, const Hparams& h, TensorList& list) {
  list.linear(i, "ffn_gate_inp", h.embd, h.experts);
  list.add(i, "ffn_gate_inp.scale", {h.embd});
  list.norm(i, "pre_ffw_norm_2");
  list.norm(i, "post_ffw_norm_1");
  list.norm(i, "post_ffw_norm_2");
  list.add(i, "ffn_gate_up_exps.weight", {h.embd, 2 * h.expert_ffn, h.experts});
  list.add(i, "ffn_down_exps.weight", {h.expert_ffn, h.embd, h.experts});
  list.add(i, "ffn_down_exps.scale", {h.experts});
}

void gemma4_tensors(const Hparams& h, const HfConfig& config, TensorList& list) {
  const auto layers = static_cast<std::int64_t>(h.layers.size());
  list.ends(config.truth("tie_word_embeddings", true));
  if (h.embd_per_layer > 0) {
    list.add("per_layer_token_embd.weight", {h.embd_per_layer * layers, h.vocab});
    list.add("per_layer_model_proj.weight", {h.embd, h.embd_per_layer * layers});
    list.add("per_layer_proj_norm.weight", {h.embd_per_layer});
  }
  list.add("rope_freqs.weight", {h.head_k / 2});
  // Where keys serve as values, layers that do not slide have no projection of these.
  const bool keys_are_values = config.truth("attention_k_eq_v", false);
  for (std::size_t i = 0; i < h.layers.size(); ++i) {
    const Layer& layer = h.layers[i];
    const std::int64_t head = h.head_k_of(layer);
    list.norm(i, "attn_norm");
    list.linear(i, "attn_q", h.embd, head * layer.heads);
    list.linear(i, "attn_k", h.embd, h.k_width(layer));
    if (layer.sliding || !keys_are_values) list.linear(i, "attn_v", h.embd, h.v_width(layer));
    list.qk_norms(i);
    list.attention_output(i);
    list.norm(i, "post_attention_norm");
    list.norm(i, "post_ffw_norm");
    list.norm(i, "ffn_norm");
    list.gated_ffn(i, layer.ffn);
    if (layer.experts) add_router(i, h, list);
    if (h.embd_per_layer > 0) {
      list.linear(i, "inp_gate", h.embd, h.embd_per_layer);
      list.linear(i, "proj", h.embd_per_layer, h.embd);
      list.norm(i, "post_norm");
    }
    list.add(i, "layer_output_scale.weight", {1});
  }
}

}  // namespace

const Architecture kGemma4 = {"gemma4",
                              {"Gemma4ForConditionalGeneration", "Gemma4ForCausalLM"},
                              read_gemma4,
                              convert_gemma4,
                              gemma4_tensors};

}  // namespace vramfit::llamacpp
