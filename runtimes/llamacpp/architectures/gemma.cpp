#include <cmath>

#include "runtimes/llamacpp/architectures/architectures.h"
#include "runtimes/llamacpp/base/limits.h"

namespace vramfit::llamacpp {
namespace {

/// Of the largest, queries are scaled by the model's width and not by the head's.
double query_scale(const Hparams& h, std::size_t layers_of_27b) {
  const std::int64_t over =
      h.layers.size() == layers_of_27b ? h.embd / h.layers.front().heads : h.head_k;
  return 1 / std::sqrt(static_cast<double>(over));
}

void read_gemma2(const ArchKeys& keys, Hparams& h) {
  h.window = keys.integer_or("attention.sliding_window", 4096, 0, kLongestContext);
  read_sliding_pattern(keys, 2, h);
  h.attn_softcap = keys.number_or("attn_logit_softcapping", 50);
  h.final_softcap = keys.number_or("final_logit_softcapping", 30);
  h.attention_scale = query_scale(h, 46);
}

void convert_gemma2(const HfConfig& config, ArchWriter& keys) {
  const std::int64_t head = config.integer_or({"head_dim"}, 256, kLargestHead);
  keys.set("attention.key_length", head);
  keys.set("attention.value_length", head);
  keys.set("attn_logit_softcapping", config.number("attn_logit_softcapping").value_or(50));
  keys.set("final_logit_softcapping", config.number("final_logit_softcapping").value_or(30));
  keys.set("attention.sliding_window",
           config.integer_or({"sliding_window"}, 4096, kLongestContext));
}

void add_gemma_ffn(std::size_t i, const Hparams& h, TensorList& list) {
  list.attention_output(i);
  list.norm(i, "post_attention_norm");
  list.norm(i, "post_ffw_norm");
  list.norm(i, "ffn_norm");
  list.gated_ffn(i, h.layers[i].ffn);
}

void gemma2_tensors(const Hparams& h, const HfConfig&, TensorList& list) {
  list.ends(true);
  for (std::size_t i = 0; i < h.layers.size(); ++i) {
    list.norm(i, "attn_norm");
    list.qkv(i);
    add_gemma_ffn(i, h, list);
  }
}

void read_gemma3(const ArchKeys& keys, Hparams& h) {
  h.window = sliding_window(keys);
  if (h.window > 0) read_sliding_pattern(keys, 6, h);
  h.final_softcap = keys.number_or("final_logit_softcapping", 0);
  h.attention_scale = query_scale(h, 62);
}

/// With the defaults of Gemma3TextConfig, which the multimodal models' configs leave out.
void convert_gemma3(const HfConfig& config, ArchWriter& keys) {
  const std::int64_t head = config.integer_or({"head_dim"}, 256, kLargestHead);
  keys.set("context_length",
           config.integer_or({"max_position_embeddings"}, 131072, kLongestContext));
  keys.set("attention.head_count", config.heads_or(8));
  keys.set("attention.head_count_kv", config.integer_or({"num_key_value_heads"}, 4, kMostHeads));
  keys.set("attention.key_length", head);
  keys.set("attention.value_length", head);
  keys.set("vocab_size", config.integer_or({"vocab_size"}, 262208, kLargestVocab));
  if (const auto cap = config.number("final_logit_softcapping"); cap && *cap != 0) {
    keys.set("final_logit_softcapping", *cap);
  }
  if (config.integer_or({"sliding_window_pattern"}, 6, kMostLayers) != 1) {
    keys.set("attention.sliding_window",
             config.integer_or({"sliding_window"}, 4096, kLongestContext));
  }
}

void gemma3_tensors(const Hparams& h, const HfConfig& config, TensorList& list) {
  list.ends(config.truth("tie_word_embeddings", true));
  for (std::size_t i = 0; i < h.layers.size(); ++i) {
    list.norm(i, "attn_norm");
    list.qkv(i);
    list.qk_norms(i);
    add_gemma_ffn(i, h, list);
  }
}

}  // namespace

const Architecture kGemma2 = {
    "gemma2", {"Gemma2ForCausalLM"}, read_gemma2, convert_gemma2, gemma2_tensors};

const Architecture kGemma3 = {"gemma3",
                              {"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"},
                              read_gemma3,
                              convert_gemma3,
                              gemma3_tensors};

}  // namespace vramfit::llamacpp
