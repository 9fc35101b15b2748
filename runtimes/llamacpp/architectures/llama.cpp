#include "runtimes/llamacpp/architectures/architectures.h"
#include "runtimes/llamacpp/base/limits.h"

namespace vramfit::llamacpp {
namespace {

void read_llama(const ArchKeys&, Hparams& h) {
  if (h.experts > 0) replace_ffn_by_experts(h, h.layers.front().ffn, 0);
}

void convert_llama(const HfConfig& config, ArchWriter& keys) {
  keys.set("rope.dimension_count", config.head_dim());
}

void llama_tensors(const Hparams& h, const HfConfig& config, TensorList& list) {
  list.ends(config.truth("tie_word_embeddings", false));
  add_llama3_rope(h, config, list);
  const Bias attention{config.truth("attention_bias", false)};
  const Bias mlp{config.truth("mlp_bias", false)};
  for (std::size_t i = 0; i < h.layers.size(); ++i) {
    list.norm(i, "attn_norm");
    list.qkv(i, attention);
    list.attention_output(i, attention);
    list.norm(i, "ffn_norm");
    if (h.layers[i].experts) {
      list.experts(i, h.expert_ffn);
      if (h.shared_ffn > 0) list.shared_experts(i, h.shared_ffn);
    } else {
      list.gated_ffn(i, h.layers[i].ffn, mlp);
    }
  }
}

void read_mistral3(const ArchKeys& keys, Hparams& h) {
  read_llama(keys, h);
  h.attention_temperature = keys.number_or("attention.temperature_scale", 0);
}

void convert_mistral3(const HfConfig& config, ArchWriter& keys) {
  convert_llama(config, keys);
  if (config.json().text_or("model_type", "") != "ministral3") return;
  const double beta = config.rope().number("llama_4_scaling_beta", 0, 1e6);
  keys.set("attention.temperature_scale", beta);
}

/// Granite is llama with scales (conversion/granite.py: GraniteModel).
void read_granite(const ArchKeys& keys, Hparams& h) {
  read_llama(keys, h);
  h.logit_scale = keys.number_or("logit_scale", 0);
  h.residual_scale = keys.number_or("residual_scale", 0);
  h.embedding_scale = keys.number_or("embedding_scale", 0);
  h.attention_scale = keys.number_or("attention.scale", 0);
  h.shared_ffn = keys.integer_or("expert_shared_feed_forward_length", 0, 0, kLargestFfn);
  if (h.arch != "granite") return;  // others rotate in any case
  const bool rope = keys.boolean_or("rope.scaling.finetuned", true);
  for (Layer& layer : h.layers) layer.rope = rope;
}

void convert_granite(const HfConfig& config, ArchWriter& keys) {
  convert_llama(config, keys);
  const auto copy = [&](const char* to, const char* from) {
    if (const auto scale = config.number(from); scale && *scale != 0) keys.set(to, *scale);
  };
  copy("attention.scale", "attention_multiplier");
  copy("embedding_scale", "embedding_multiplier");
  copy("residual_scale", "residual_multiplier");
  copy("logit_scale", "logits_scaling");
  if (config.json().has("shared_intermediate_size")) {
    keys.set("expert_shared_feed_forward_length",
             config.integer_or({"shared_intermediate_size"}, 0, kLargestFfn));
  }
}

}  // namespace

const Architecture kLlama = {"llama",
                             {"LlamaForCausalLM", "LLaMAForCausalLM", "MistralForCausalLM",
                              "MixtralForCausalLM", "LlamaModel"},
                             read_llama,
                             convert_llama,
                             llama_tensors};

const Architecture kMistral3 = {"mistral3",
                                {"Mistral3ForConditionalGeneration", "Ministral3ForCausalLM"},
                                read_mistral3,
                                convert_mistral3,
                                llama_tensors};

const Architecture kGranite = {
    "granite", {"GraniteForCausalLM"}, read_granite, convert_granite, llama_tensors};

const Architecture kGraniteMoe = {"granitemoe",
                                  {"GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM"},
                                  read_granite,
                                  convert_granite,
                                  llama_tensors};

}  // namespace vramfit::llamacpp
