#include "runtimes/llamacpp/architectures/architectures.h"
#include "runtimes/llamacpp/base/limits.h"

namespace vramfit::llamacpp {
namespace {

constexpr std::int64_t kLongestConvolution = 1 << 10;

void read_convolutions(const ArchKeys& keys, Hparams& h) {
  h.shortconv_cache = keys.integer("shortconv.l_cache", 1, kLongestConvolution);
  for (Layer& layer : h.layers) layer.recurrent = layer.kv_heads == 0;
}

void read_lfm2(const ArchKeys& keys, Hparams& h) {
  read_convolutions(keys, h);
  h.dense_lead = h.run_layers();
  h.window = sliding_window(keys);
  for (Layer& layer : h.layers) layer.sliding = h.window > 0 && !layer.recurrent;
}

void read_lfm2moe(const ArchKeys& keys, Hparams& h) {
  read_convolutions(keys, h);
  require_experts(keys, h);
  h.dense_lead = keys.integer_or("leading_dense_block_count", 0, 0, kMostLayers);
  h.gating = read_gating(keys);
  replace_ffn_by_experts(h, expert_ffn(keys, h), h.dense_lead);
}

/// LFM2Model._add_feed_forward_length.
std::int64_t adjusted_ffn(const HfConfig& config) {
  std::int64_t ffn = config.integer({"block_ff_dim", "intermediate_size"}, kLargestFfn);
  if (!config.truth("block_auto_adjust_ff_dim", true)) return ffn;
  const std::int64_t of = config.integer_or({"block_multiple_of"}, 256, kLargestFfn);
  const double factor = config.number("block_ffn_dim_multiplier").value_or(1);
  if (of < 1 || factor <= 0 || factor > 16) {
    config.json().fail("block_multiple_of", "less than 1, or block_ffn_dim_multiplier beyond 16");
  }
  ffn = 2 * ffn / 3;
  ffn = static_cast<std::int64_t>(factor * static_cast<double>(ffn));
  return of * ((ffn + of - 1) / of);
}

void convert_convolutions(const HfConfig& config, ArchWriter& keys) {
  const std::int64_t kv_heads = config.integer({"num_key_value_heads"}, kMostHeads);
  std::vector<std::int64_t> each;
  for (const std::int64_t convolves : config.layers_of_type("conv")) {
    each.push_back(convolves != 0 ? 0 : kv_heads);
  }
  keys.each("attention.head_count_kv", std::move(each));
  keys.set("shortconv.l_cache", config.integer({"conv_L_cache"}, kLongestConvolution));
}

void convert_lfm2(const HfConfig& config, ArchWriter& keys) {
  convert_convolutions(config, keys);
  keys.set("feed_forward_length", adjusted_ffn(config));
}

void convert_lfm2moe(const HfConfig& config, ArchWriter& keys) {
  convert_convolutions(config, keys);
  keys.set("expert_feed_forward_length", config.integer({"moe_intermediate_size"}, kLargestFfn));
  keys.set("leading_dense_block_count", config.integer({"num_dense_layers"}, kMostLayers));
  keys.set("expert_gating_func", std::int64_t{2});
}

void lfm2_tensors(const Hparams& h, const HfConfig& config, TensorList& list) {
  list.add("token_embd.weight", {h.embd, h.vocab});
  list.add("token_embd_norm.weight", {h.embd});  // the last norm, by a wrong name
  const bool tied = config.truth("tie_word_embeddings", config.truth("tie_embedding", true));
  if (!tied) list.add("output.weight", {h.embd, h.vocab});
  for (std::size_t i = 0; i < h.layers.size(); ++i) {
    list.norm(i, "attn_norm");
    if (h.layers[i].recurrent) {
      list.add(i, "shortconv.conv.weight", {h.shortconv_cache, h.embd});
      list.linear(i, "shortconv.in_proj", h.embd, 3 * h.embd);
      list.linear(i, "shortconv.out_proj", h.embd, h.embd);
    } else {
      list.qkv(i);
      list.qk_norms(i);
      list.attention_output(i);
    }
    list.norm(i, "ffn_norm");
    if (h.layers[i].experts) {
      list.experts(i, h.expert_ffn);
      list.add(i, "exp_probs_b.bias", {h.experts});
    } else {
      list.gated_ffn(i, h.layers[i].ffn);
    }
  }
}

}  // namespace

const Architecture kLfm2 = {
    "lfm2", {"Lfm2ForCausalLM", "LFM2ForCausalLM"}, read_lfm2, convert_lfm2, lfm2_tensors};

const Architecture kLfm2Moe = {
    "lfm2moe", {"Lfm2MoeForCausalLM"}, read_lfm2moe, convert_lfm2moe, lfm2_tensors};

}  // namespace vramfit::llamacpp
