#include <gtest/gtest.h>

#include <vector>

#include "tests/model/config/config_text.h"

namespace vramfit {
namespace {

/// A config that must be refused, and what its message says: which key, and what would be valid.
struct Refused {
  const char* family;
  Keys keys;
  const char* key;
  const char* valid;
};

void expect_refused(const std::vector<Refused>& cases) {
  for (const Refused& c : cases) {
    const std::string text = config_text(c.family, c.keys);
    const std::string message = refusal(text);
    ASSERT_NE(message, "") << "it was taken:\n" << text;
    EXPECT_NE(message.find(": " + std::string(c.key) + ": "), std::string::npos)
        << message << "\ndoes not name " << c.key;
    EXPECT_NE(message.find(c.valid), std::string::npos) << message << "\ndoes not say: " << c.valid;
  }
}

const char* const kHuge = "123456789012345678901234567890";

TEST(RefusedKeys, Missing) {
  expect_refused(
      {{"llama",
        {{"model_type", ""}},
        "model_type",
        "one of llama, mistral, qwen2, gpt2, gemma, phi, gpt_neox"},
       {"llama", {{"hidden_size", ""}}, "hidden_size", "missing; a whole number from 1 to"},
       {"llama", {{"num_attention_heads", ""}}, "num_attention_heads", "from 1 to 64"},
       {"llama", {{"num_hidden_layers", ""}}, "num_hidden_layers", "from 1 to 512"},
       {"llama", {{"num_hidden_layers", "null"}}, "num_hidden_layers", "from 1 to 512"},
       {"llama", {{"intermediate_size", ""}}, "intermediate_size", "from 1 to"},
       {"llama", {{"vocab_size", ""}}, "vocab_size", "from 1 to"},
       {"mistral", {{"num_key_value_heads", ""}}, "num_key_value_heads", "from 1 to 4"},
       {"qwen2", {{"num_key_value_heads", ""}}, "num_key_value_heads", "from 1 to 4"},
       {"gpt2", {{"n_embd", ""}}, "n_embd", "from 1 to"},
       {"gpt2", {{"n_head", ""}}, "n_head", "from 1 to 64"},
       {"gpt2", {{"n_layer", ""}}, "n_layer", "from 1 to 512"},
       {"gpt2", {{"n_positions", ""}}, "n_positions", "from 1 to"},
       {"gpt2", {{"vocab_size", ""}}, "vocab_size", "from 1 to"}});
}

TEST(RefusedKeys, Sizes) {
  expect_refused(
      {{"llama", {{"hidden_size", "0"}}, "hidden_size", "is 0; a whole number from 1"},
       {"llama", {{"hidden_size", "-64"}}, "hidden_size", "is -64; a whole number"},
       {"llama", {{"hidden_size", "64.0"}}, "hidden_size", "is 64.0; a whole number"},
       {"llama", {{"hidden_size", "6e1"}}, "hidden_size", "a whole number"},
       {"llama", {{"hidden_size", "\"64\""}}, "hidden_size", "is \"64\"; a whole number"},
       {"llama", {{"hidden_size", "\"NaN\""}}, "hidden_size", "is \"NaN\"; a whole number"},
       {"llama", {{"hidden_size", "true"}}, "hidden_size", "is true; a whole number"},
       {"llama", {{"hidden_size", "[64]"}}, "hidden_size", "is a list; a whole number"},
       {"llama", {{"hidden_size", "{}"}}, "hidden_size", "is an object; a whole number"},
       {"llama", {{"hidden_size", "1048577"}}, "hidden_size", "from 1 to 1048576"},
       {"llama", {{"hidden_size", "9223372036854775808"}}, "hidden_size", "from 1 to"},
       {"llama", {{"hidden_size", "18446744073709551615"}}, "hidden_size", "from 1 to"},
       {"llama", {{"hidden_size", "18446744073709551680"}}, "hidden_size", "from 1 to"},
       {"llama", {{"hidden_size", "-9223372036854775808"}}, "hidden_size", "from 1 to"},
       {"llama", {{"hidden_size", kHuge}}, "hidden_size", "from 1 to"},
       {"llama", {{"num_hidden_layers", "0"}}, "num_hidden_layers", "from 1 to 512"},
       {"llama", {{"num_hidden_layers", "513"}}, "num_hidden_layers", "from 1 to 512"},
       {"llama", {{"intermediate_size", "-1"}}, "intermediate_size", "from 1 to"},
       {"llama", {{"vocab_size", "0"}}, "vocab_size", "from 1 to"},
       {"llama", {{"max_position_embeddings", "0"}}, "max_position_embeddings", "from 1"},
       {"llama", {{"rms_norm_eps", "-1e-5"}}, "rms_norm_eps", "a number from 0.0 to 1.0"},
       {"llama", {{"rms_norm_eps", "2"}}, "rms_norm_eps", "is 2; a number from 0.0 to 1.0"},
       {"llama", {{"rms_norm_eps", "\"1e-5\""}}, "rms_norm_eps", "a number from"},
       {"llama", {{"attention_dropout", "1.5"}}, "attention_dropout", "from 0.0 to 1.0"},
       {"gpt2", {{"n_inner", "0"}}, "n_inner", "from 1 to"},
       {"gpt2", {{"n_positions", "-1"}}, "n_positions", "from 1 to"},
       {"gpt2", {{"resid_pdrop", "\"0.1\""}}, "resid_pdrop", "a number from 0.0 to 1.0"},
       {"gpt2", {{"layer_norm_epsilon", "[]"}}, "layer_norm_epsilon", "a number from"}});
}

TEST(RefusedKeys, Heads) {
  expect_refused(
      {{"llama", {{"num_attention_heads", "5"}}, "num_attention_heads", "a divisor of it"},
       {"llama", {{"num_attention_heads", "65"}}, "num_attention_heads", "from 1 to 64"},
       {"llama", {{"num_key_value_heads", "3"}}, "num_key_value_heads", "a divisor of"},
       {"llama", {{"num_key_value_heads", "8"}}, "num_key_value_heads", "from 1 to 4"},
       {"llama", {{"num_key_value_heads", "0"}}, "num_key_value_heads", "from 1 to 4"},
       {"llama", {{"head_dim", "0"}}, "head_dim", "from 1 to 256"},
       {"llama", {{"head_dim", "15"}}, "head_dim", "an even number of at most 256"},
       {"llama", {{"head_dim", "258"}}, "head_dim", "from 1 to 256"},
       {"llama", {{"head_dim", "\"16\""}}, "head_dim", "a whole number"},
       {"llama",
        {{"hidden_size", "2048"}, {"num_attention_heads", "4"}},
        "head_dim",
        "an even number of at most 256"},
       {"llama",
        {{"hidden_size", "60"}, {"num_attention_heads", "4"}},
        "head_dim",
        "is 15; an even number"},
       {"llama",
        {{"hidden_size", "1048576"},
         {"num_attention_heads", "1048576"},
         {"num_key_value_heads", "1"},
         {"head_dim", "256"}},
        "num_attention_heads",
        "fewer or narrower ones"},
       {"gpt2", {{"n_head", "5"}}, "n_head", "a divisor of it"},
       {"gpt2", {{"head_dim", "16"}}, "head_dim", "leave it out"}});
}

TEST(RefusedKeys, Meaning) {
  expect_refused(
      {{"llama", {{"model_type", "\"mixtral\""}}, "model_type", "one of llama, mistral"},
       {"llama", {{"model_type", "\"LLAMA\""}}, "model_type", "one of llama, mistral"},
       {"llama", {{"model_type", "3"}}, "model_type", "is 3; a string"},
       {"llama", {{"hidden_act", "\"gelu\""}}, "hidden_act", "one of silu"},
       {"llama", {{"hidden_act", "[\"silu\"]"}}, "hidden_act", "is a list; a string"},
       {"gpt2", {{"activation_function", "\"gelu\""}}, "activation_function", "gelu_new"},
       {"gpt2", {{"activation_function", "\"relu\""}}, "activation_function", "gelu_new"},
       {"gpt2", {{"scale_attn_weights", "false"}}, "scale_attn_weights", "only true"},
       {"gpt2",
        {{"scale_attn_by_inverse_layer_idx", "true"}},
        "scale_attn_by_inverse_layer_idx",
        "only false"},
       {"gpt2", {{"reorder_and_upcast_attn", "true"}}, "reorder_and_upcast_attn", "false"},
       {"gpt2", {{"add_cross_attention", "true"}}, "add_cross_attention", "only false"},
       {"llama", {{"is_encoder_decoder", "true"}}, "is_encoder_decoder", "only false"},
       {"qwen2", {{"use_mrope", "true"}}, "use_mrope", "only false"},
       {"llama", {{"quantization_config", R"({"bits": 4})"}}, "quantization_config", "in 16 bits"},
       {"llama", {{"architectures", R"(["Eagle3LlamaForCausalLM"])"}}, "architectures", "drafts"},
       {"llama", {{"architectures", R"(["LlamaForCausalLMEagle3"])"}}, "architectures", "drafts"},
       {"llama", {{"compression_config", "{}"}}, "compression_config", "in 16 bits"},
       {"llama", {{"num_local_experts", "8"}}, "num_local_experts", "no tape"},
       {"qwen2", {{"num_experts", "60"}}, "num_experts", "no tape"},
       {"llama", {{"attention_bias", "1"}}, "attention_bias", "is 1; true or false"},
       {"llama", {{"mlp_bias", "\"no\""}}, "mlp_bias", "true or false"},
       {"mistral", {{"attention_bias", "true"}}, "attention_bias", "only false"},
       {"qwen2", {{"attention_bias", "false"}}, "attention_bias", "only true"},
       {"qwen2", {{"mlp_bias", "true"}}, "mlp_bias", "only false"},
       {"llama", {{"tie_word_embeddings", "0"}}, "tie_word_embeddings", "true or false"}});
}

TEST(RefusedKeys, PartsThatNoFamilyHas) {
  expect_refused(
      {{"qwen2", {{"n_routed_experts", "64"}}, "n_routed_experts", "no tape"},
       {"qwen2", {{"num_experts_per_tok", "8"}}, "num_experts_per_tok", "no tape"},
       {"llama", {{"moe_intermediate_size", "1408"}}, "moe_intermediate_size", "no tape"},
       {"llama", {{"quantization", "{\"bits\": 4}"}}, "quantization", "in 16 bits"},
       {"llama", {{"output_hidden_states", "true"}}, "output_hidden_states", "only false"},
       {"llama", {{"output_attentions", "1"}}, "output_attentions", "is 1; only false"},
       {"llama", {{"vision_config", "{}"}}, "vision_config", "a text model's config"},
       {"llama", {{"mm_vision_tower", "\"clip\""}}, "mm_vision_tower", "a text model's config"},
       {"mistral", {{"audio_config", "{}"}}, "audio_config", "a text model's config"},
       {"phi3", {{"lm_head_bias", "true"}}, "lm_head_bias", "only false"},
       {"gpt2", {{"num_hidden_layers", "2"}}, "num_hidden_layers", "gpt2 calls it n_layer"},
       {"llama", {{"per_layer_config", "{}"}}, "per_layer_config", "one shape for all"}});
}

TEST(RefusedKeys, ClassesWithoutALanguageModelsHead) {
  const char* const valid = "a …ForCausalLM";
  expect_refused(
      {{"llama", {{"architectures", "[\"LlamaModel\"]"}}, "architectures", valid},
       {"qwen2",
        {{"architectures", "[\"Qwen2ForSequenceClassification\"]"}},
        "architectures",
        valid},
       {"phi3", {{"architectures", "[\"Phi3ForTokenClassification\"]"}}, "architectures", valid},
       {"gpt2", {{"architectures", "[\"GPT2DoubleHeadsModel\"]"}}, "architectures", valid},
       {"llama",
        {{"architectures", "\"LlamaForCausalLM\""}},
        "architectures",
        "a list of strings"}});
}

TEST(RefusedKeys, MultimodalModelsWhoseTextModelNoFamilyReads) {
  expect_refused(
      {{"llama",
        {{"text_config", "{\"model_type\": \"mllama_text_model\"}"}},
        "text_config",
        "no step is written down for 'mllama_text_model'"},
       {"llama",
        {{"text_config", "{\"model_type\": \"llama\", \"text_config\": {\"text_config\": {}}}"}},
        "text_config",
        "within it none is read"},
       {"llama", {{"text_config", "[]"}}, "text_config", "is a list; an object"}});
}

TEST(RefusedKeys, Windows) {
  expect_refused(
      {{"mistral", {{"sliding_window", "0"}}, "sliding_window", "from 1 to"},
       {"mistral", {{"sliding_window", "-1"}}, "sliding_window", "from 1 to"},
       {"mistral", {{"sliding_window", "\"4096\""}}, "sliding_window", "whole number"},
       {"qwen2", {{"use_sliding_window", "1"}}, "use_sliding_window", "true or false"},
       {"qwen2", {{"layer_types", "\"full_attention\""}}, "layer_types", "a list of"},
       {"qwen2", {{"layer_types", "[1, 2]"}}, "layer_types", "a list of strings"},
       {"qwen2", {{"layer_types", "[\"full_attention\"]"}}, "layer_types", "one for each"},
       {"qwen2",
        {{"layer_types", "[\"full_attention\", \"linear_attention\"]"}},
        "layer_types",
        "full_attention and sliding_attention"},
       {"qwen2",
        {{"layer_types", "[\"full_attention\", \"sliding_attention\"]"}},
        "layer_types",
        "set it"}});
}

Keys scaling(const char* value) { return {{"rope_scaling", value}}; }

TEST(RefusedKeys, Rotation) {
  expect_refused(
      {{"llama", {{"rope_theta", "0"}}, "rope_theta", "a number from 1.0 to"},
       {"llama", {{"rope_theta", "\"NaN\""}}, "rope_theta", "a number from 1.0 to"},
       {"llama", {{"partial_rotary_factor", "0.5"}}, "partial_rotary_factor", "only 1.0"},
       {"llama", scaling("2"), "rope_scaling", "is 2; an object"},
       {"llama", scaling("{\"type\": \"dynamic\"}"), "factor", "a number from 1.0 to"},
       {"llama", scaling("{\"rope_type\": \"yarn\", \"factor\": 0.5}"), "factor", "from 1.0"},
       {"llama", scaling("{\"rope_type\": \"ntk\", \"factor\": 4}"), "rope_type", "one of default"},
       {"llama", scaling("{\"rope_type\": \"mrope\", \"type\": \"linear\"}"), "rope_type",
        "one of default"},
       {"llama", scaling("{\"factor\": 2.0}"), "rope_type", "one of default, linear"},
       {"llama", scaling("{\"type\": \"linear\"}"), "factor", "a number from 1.0 to"},
       {"llama", scaling("{\"type\": \"linear\", \"factor\": 0.5}"), "factor", "from 1.0"},
       {"llama", scaling("{\"rope_type\": \"llama3\", \"factor\": 8}"), "low_freq_factor",
        "a number from"},
       {"llama",
        scaling("{\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 4,"
                "\"high_freq_factor\": 4, \"original_max_position_embeddings\": 8192}"),
        "high_freq_factor", "a number above it"},
       {"llama",
        scaling("{\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 1,"
                "\"high_freq_factor\": 4}"),
        "original_max_position_embeddings", "from 1 to"},
       {"llama",
        {{"rope_parameters", "{\"rope_theta\": 1e4, \"partial_rotary_factor\": 0.25}"}},
        "partial_rotary_factor",
        "only 1.0"},
       {"llama",
        {{"rope_parameters", "{\"full_attention\": {\"rope_type\": \"default\"}}"}},
        "full_attention",
        "one for all layers"},
       {"llama",
        {{"rope_parameters", "{}"}, {"rope_scaling", "{}"}},
        "rope_scaling",
        "one of the two"}});
}

}  // namespace
}  // namespace vramfit
