#include "runtimes/llamacpp/architectures/architectures.h"
#include "runtimes/llamacpp/base/limits.h"

namespace vramfit::llamacpp {
namespace {

constexpr std::int64_t kLongestKernel = 1 << 10;

void read_qwen3next(const ArchKeys& keys, Hparams& h) {
  require_experts(keys, h);
  h.ssm_conv = keys.integer("ssm.conv_kernel", 1, kLongestKernel);
  h.ssm_inner = keys.integer("ssm.inner_size", 1, kLargestWidth);
  h.ssm_state = keys.integer("ssm.state_size", 1, kLargestHead);
  h.ssm_dt_rank = keys.integer("ssm.time_step_rank", 1, kMostHeads);
  h.ssm_groups = keys.integer("ssm.group_count", 1, kMostHeads);
  const auto run = static_cast<std::size_t>(h.run_layers());
  if (keys.is_array("attention.recurrent_layers")) {
    const auto recurrent = keys.each_or("attention.recurrent_layers", h.layers.size(), 0, 0, 1);
    for (std::size_t i = 0; i < run; ++i) h.layers[i].recurrent = recurrent[i] != 0;
  } else {
    const auto every =
        static_cast<std::size_t>(keys.integer_or("full_attention_interval", 4, 1, kMostLayers));
    for (std::size_t i = 0; i < run; ++i) h.layers[i].recurrent = (i + 1) % every != 0;
  }
  const std::int64_t dense = h.layers.front().ffn;
  const std::int64_t shared =
      keys.integer_or("expert_shared_feed_forward_length", 0, 0, kLargestFfn);
  h.shared_ffn = shared > 0 ? shared : dense;
  const std::int64_t ffn = expert_ffn(keys, h);
  replace_ffn_by_experts(h, ffn > 0 ? ffn : dense / h.experts_used, 0);
}

/// _QwenMtpMixin: a checkpoint has one layer of next-token prediction, which its config may not
/// tell.
void convert_qwen3next(const HfConfig& config, ArchWriter& keys) {
  const std::int64_t layers = config.layers();
  const std::int64_t nextn = config.integer_or({"mtp_num_hidden_layers"}, 1, kMostLayers);
  keys.set("block_count", layers + nextn);
  keys.set("nextn_predict_layers", nextn);
  const auto size = [&](const char* key) { return config.integer({key}, kLargestHead); };
  keys.set("expert_feed_forward_length", config.integer({"moe_intermediate_size"}, kLargestFfn));
  keys.set("expert_shared_feed_forward_length",
           config.integer({"shared_expert_intermediate_size"}, kLargestFfn));
  keys.set("ssm.conv_kernel", size("linear_conv_kernel_dim"));
  keys.set("ssm.state_size", size("linear_key_head_dim"));
  keys.set("ssm.group_count", size("linear_num_key_heads"));
  keys.set("ssm.time_step_rank", size("linear_num_value_heads"));
  keys.set("ssm.inner_size", size("linear_value_head_dim") * size("linear_num_value_heads"));
  if (config.json().has("layer_types")) {
    std::vector<std::int64_t> recurrent = config.layers_of_type("linear_attention");
    recurrent.resize(static_cast<std::size_t>(layers + nextn), 0);
    keys.each("attention.recurrent_layers", std::move(recurrent));
  }
  keys.set("full_attention_interval",
           config.integer_or({"full_attention_interval"}, 4, kMostLayers));
  keys.set("rope.dimension_count", config.rotated_dims(0.25));
}

/// A gated delta net: queries, keys and values of its heads, and what gates them.
void add_delta_net(std::size_t i, const Hparams& h, TensorList& list) {
  const std::int64_t keys = h.ssm_state * h.ssm_groups;
  const std::int64_t values = h.ssm_state * h.ssm_dt_rank;
  list.linear(i, "attn_qkv", h.embd, 2 * keys + values);
  list.linear(i, "attn_gate", h.embd, values);
  list.add(i, "ssm_conv1d.weight", {h.ssm_conv, 2 * keys + values});
  list.add(i, "ssm_dt.bias", {h.ssm_dt_rank});
  list.add(i, "ssm_a", {h.ssm_dt_rank});
  list.linear(i, "ssm_ba", h.embd, 2 * h.ssm_dt_rank);
  list.norm(i, "ssm_norm", h.ssm_state);
  list.linear(i, "ssm_out", values, h.embd);
}

void qwen3next_tensors(const Hparams& h, const HfConfig& config, TensorList& list) {
  list.ends(config.truth("tie_word_embeddings", false));
  for (std::size_t i = 0; i < h.layers.size(); ++i) {
    const Layer& layer = h.layers[i];
    list.norm(i, "attn_norm");
    if (layer.recurrent) {
      add_delta_net(i, h, list);
    } else {
      // Beside each query stands its gate.
      list.linear(i, "attn_q", h.embd, 2 * h.head_k * layer.heads);
      list.linear(i, "attn_k", h.embd, h.k_width(layer));
      list.linear(i, "attn_v", h.embd, h.v_width(layer));
      list.qk_norms(i);
      list.attention_output(i);
    }
    list.norm(i, "post_attention_norm");
    list.experts(i, h.expert_ffn);
    list.add(i, "ffn_gate_inp_shexp.weight", {h.embd});
    list.shared_experts(i, h.shared_ffn);
    if (static_cast<std::int64_t>(i) < h.run_layers()) continue;
    list.nextn(i);
    list.norm(i, "nextn.shared_head_norm");
  }
}

}  // namespace

const Architecture kQwen3Next = {
    "qwen3next", {"Qwen3NextForCausalLM"}, read_qwen3next, convert_qwen3next, qwen3next_tensors};

}  // namespace vramfit::llamacpp
