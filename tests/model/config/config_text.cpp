#include "tests/model/config/config_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/errors.h"

namespace vramfit {
namespace {

Keys base(const std::string& family) {
  if (family == "gpt2") {
    return {{"model_type", "\"gpt2\""},
            {"n_embd", "64"},
            {"n_head", "4"},
            {"n_layer", "2"},
            {"n_positions", "128"},
            {"vocab_size", "1000"},
            {"n_inner", "null"},
            {"embd_pdrop", "0.0"},
            {"attn_pdrop", "0.0"},
            {"resid_pdrop", "0.0"},
            {"layer_norm_epsilon", "1e-5"},
            {"activation_function", "\"gelu_new\""}};
  }
  if (family == "gpt_neox" || family == "phi") {
    return {{"model_type", "\"" + family + "\""},
            {"hidden_size", "64"},
            {"num_attention_heads", "4"},
            {"num_hidden_layers", "2"},
            {"intermediate_size", "128"},
            {"vocab_size", "1000"},
            {"max_position_embeddings", "128"},
            {"hidden_act", "\"gelu_new\""},
            {"layer_norm_eps", "1e-5"}};
  }
  return {{"model_type", "\"" + family + "\""},
          {"hidden_size", "64"},
          {"num_attention_heads", "4"},
          {"num_key_value_heads", "2"},
          {"num_hidden_layers", "2"},
          {"intermediate_size", "128"},
          {"vocab_size", "1000"},
          {"max_position_embeddings", "128"},
          {"hidden_act", family.rfind("gemma", 0) == 0 ? "\"gelu\"" : "\"silu\""},
          {"rms_norm_eps", "1e-5"},
          {"sliding_window", family == "gemma2" || family == "gemma3_text" ? "96" : "null"}};
}

}  // namespace

std::string config_text(const std::string& family, const Keys& keys) {
  Keys all = base(family);
  for (const auto& [key, value] : keys) {
    const auto there = std::find_if(all.begin(), all.end(),
                                    [&key = key](const auto& entry) { return entry.first == key; });
    if (there != all.end()) all.erase(there);
    if (!value.empty()) all.emplace_back(key, value);
  }
  std::string text;
  for (const auto& [key, value] : all) {
    text += (text.empty() ? "{\"" : ",\n \"") + key + "\": " + value;
  }
  return text + "}";
}

ModelConfig parsed(const std::string& family, const Keys& keys) {
  return parse_hugging_face(config_text(family, keys), "tiny");
}

std::string refusal(const std::string& text) {
  try {
    parse_hugging_face(text, "tiny");
  } catch (const BadInput& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.rfind("tiny: ", 0), 0U) << message;
    EXPECT_LE(message.size(), 200U) << message;
    EXPECT_TRUE(
        std::all_of(message.begin(), message.end(),
                    [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 0x7F; }))
        << "more than a line: " << message;
    return message;
  }
  return "";
}

}  // namespace vramfit
