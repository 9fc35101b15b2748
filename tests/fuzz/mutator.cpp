#include "tests/fuzz/mutator.h"

#include <algorithm>

#include "model/config/families.h"

namespace vramfit {
namespace {

std::vector<std::string> plain_values() {
  return {
      "0",
      "-0",
      "1",
      "2",
      "-1",
      "3",
      "7",
      "16",
      "64",
      "128",
      "254",
      "255",
      "256",
      "257",
      "4096",
      "10000",
      "10001",
      "65536",
      "1048576",
      "4194304",
      "16777216",
      "2147483647",
      "2147483648",
      "4294967296",
      "9223372036854775807",
      "9223372036854775808",
      "-9223372036854775808",
      "18446744073709551615",
      "18446744073709551616",
      "1e999",
      "-1e999",
      "1e-999",
      "1e308",
      "0.0",
      "0.5",
      "1.0",
      "1.5",
      "1e6",
      "1e12",
      "1e-30",
      "true",
      "false",
      "null",
      "\"\"",
      "\"NaN\"",
      "\"64\"",
      "\"\\u0000\\n\"",
      "\"\\ud83d\\ude00\"",
      "[]",
      "{}",
      "[1, \"a\", null]",
      "\"silu\"",
      "\"gelu_new\"",
      "\"linear\"",
      "[\"full_attention\"]",
      "[\"sliding_attention\", \"full_attention\"]",
      "{\"type\": \"linear\", \"factor\": 4}",
      "{\"rope_type\": \"default\"}",
      "{\"factor\": 2}",
      "{\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 1, \"high_freq_factor\": 4,"
      " \"original_max_position_embeddings\": 8192}",
      std::string(2000, '['),
      std::string(500, '9'),
      "\"" + std::string(3000, 'x') + "\"",
      std::string(2000, '[') + std::string(2000, ']')};
}

/// With the name of every family.
const std::vector<std::string>& values() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> result = plain_values();
    for (const FamilyReader& family : families()) {
      result.push_back("\"" + std::string(family.model_type) + "\"");
    }
    return result;
  }();
  return all;
}

const std::vector<std::string>& keys() {
  static const std::vector<std::string> all = {"model_type",
                                               "hidden_size",
                                               "num_attention_heads",
                                               "num_key_value_heads",
                                               "head_dim",
                                               "num_hidden_layers",
                                               "intermediate_size",
                                               "vocab_size",
                                               "max_position_embeddings",
                                               "hidden_act",
                                               "rms_norm_eps",
                                               "rope_theta",
                                               "rope_scaling",
                                               "rope_parameters",
                                               "partial_rotary_factor",
                                               "rotary_pct",
                                               "qk_layernorm",
                                               "use_parallel_residual",
                                               "sliding_window",
                                               "use_sliding_window",
                                               "layer_types",
                                               "max_window_layers",
                                               "sliding_window_pattern",
                                               "attn_logit_softcapping",
                                               "final_logit_softcapping",
                                               "logits_scaling",
                                               "rope_local_base_freq",
                                               "full_attention",
                                               "attention_bias",
                                               "mlp_bias",
                                               "tie_word_embeddings",
                                               "attention_dropout",
                                               "n_embd",
                                               "n_head",
                                               "n_layer",
                                               "n_inner",
                                               "n_positions",
                                               "activation_function",
                                               "layer_norm_epsilon",
                                               "attn_pdrop",
                                               "scale_attn_weights",
                                               "quantization_config",
                                               "num_experts",
                                               "factor",
                                               "type",
                                               "rope_type",
                                               "low_freq_factor",
                                               "high_freq_factor",
                                               "original_max_position_embeddings",
                                               "torch_dtype",
                                               "dtype",
                                               "architectures",
                                               "use_cache",
                                               "output_hidden_states",
                                               "output_attentions",
                                               "quantization",
                                               "n_routed_experts",
                                               "text_config",
                                               "vision_config",
                                               "audio_config"};
  return all;
}

}  // namespace

std::string Mutator::next() {
  std::string text = pick(corpus_);
  for (std::size_t i = 1 + below(5); i > 0; --i) mutate(text);
  return text;
}

void Mutator::mutate(std::string& text) {
  switch (below(8)) {
    case 0:
      return change_bytes(text);
    case 1:
      return move_range(text);
    case 2:
    case 3:
      return add_key(text);
    default:
      return replace_value(text);
  }
}

void Mutator::replace_value(std::string& text) {
  const std::size_t colon = text.find(':', below(text.size() + 1));
  if (colon == std::string::npos) return;
  const std::size_t end = std::min(text.find_first_of(",}", colon), text.size());
  text.replace(colon + 1, end - colon - 1, pick(values()));
}

void Mutator::add_key(std::string& text) {
  const std::size_t brace = text.find('{');
  if (brace == std::string::npos) return;
  // At the end, where it wins over one that is there already, or at the start, where it loses.
  const std::string entry = "\"" + pick(keys()) + "\": " + pick(values());
  const std::size_t last = text.rfind('}');
  if (below(4) == 0 || last == std::string::npos) {
    text.insert(brace + 1, entry + ",");
  } else {
    text.insert(last, "," + entry);
  }
}

void Mutator::change_bytes(std::string& text) {
  for (std::size_t i = 1 + below(4); i > 0 && !text.empty(); --i) {
    char& byte = text[below(text.size())];
    byte = static_cast<char>(below(2) == 0 ? byte ^ (1 << below(8)) : static_cast<int>(below(256)));
  }
}

void Mutator::move_range(std::string& text) {
  const std::size_t from = below(text.size() + 1);
  const std::size_t size = std::min(below(64), text.size() - from);
  switch (below(4)) {
    case 0:
      text.erase(from, size);
      return;
    case 1:
      text.insert(below(text.size() + 1), text.substr(from, size));
      return;
    case 2:
      text.resize(from);
      return;
    default: {
      const std::string& other = pick(corpus_);
      text = text.substr(0, from) + other.substr(below(other.size() + 1));
    }
  }
}

}  // namespace vramfit
