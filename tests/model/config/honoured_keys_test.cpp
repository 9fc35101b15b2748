#include <gtest/gtest.h>

#include <functional>

#include "model/config/hugging_face.h"
#include "model/errors.h"
#include "model/transformer/parameters.h"
#include "tests/model/config/config_text.h"

namespace vramfit {
namespace {

TEST(HonouredKeys, OfLlama) {
  const ModelConfig c = parsed("llama", {{"rms_norm_eps", "1e-3"}, {"rope_theta", "500000"}});
  EXPECT_EQ(c.name, "tiny");
  EXPECT_EQ(c.family, "llama");
  EXPECT_EQ(c.layers, 2);
  EXPECT_EQ(c.hidden, 64);
  EXPECT_EQ(c.heads, 4);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.head_dim, 16);
  EXPECT_EQ(c.ffn, 128);
  EXPECT_EQ(c.vocab, 1000);
  EXPECT_EQ(c.max_positions, 128);
  EXPECT_EQ(c.norm, NormKind::RmsNorm);
  EXPECT_EQ(c.norm_eps, 1e-3F);
  EXPECT_EQ(c.activation, ActivationKind::SwiGlu);
  ASSERT_TRUE(c.rope);
  EXPECT_EQ(c.rope->theta, 500000.0);
  EXPECT_EQ(c.rope->scaling, Rope::Scaling::None);
  EXPECT_EQ(c.sliding_window, std::nullopt);
  EXPECT_FALSE(c.qkv_bias || c.out_bias || c.mlp_bias || c.tied_head);
  EXPECT_TRUE(c.notes.empty());
}

TEST(HonouredKeys, OfGpt2) {
  const ModelConfig c = parsed("gpt2");
  EXPECT_EQ(c.family, "gpt2");
  EXPECT_EQ(c.layers, 2);
  EXPECT_EQ(c.hidden, 64);
  EXPECT_EQ(c.heads, 4);
  EXPECT_EQ(c.kv_heads, 4);
  EXPECT_EQ(c.head_dim, 16);
  EXPECT_EQ(c.ffn, 256) << "n_inner null: four times the width";
  EXPECT_EQ(c.max_positions, 128);
  EXPECT_EQ(c.norm, NormKind::LayerNorm);
  EXPECT_EQ(c.norm_eps, 1e-5F);
  EXPECT_EQ(c.activation, ActivationKind::Gelu);
  EXPECT_TRUE(c.learned_positions());
  EXPECT_TRUE(c.qkv_bias && c.out_bias && c.mlp_bias && c.tied_head);
}

TEST(HonouredKeys, WhatIsLeftOutHasTransformersDefaults) {
  const ModelConfig llama = parsed("llama", {{"num_key_value_heads", ""},
                                             {"rms_norm_eps", ""},
                                             {"hidden_act", ""},
                                             {"max_position_embeddings", ""}});
  EXPECT_EQ(llama.kv_heads, 4);
  EXPECT_EQ(llama.norm_eps, 1e-6F);
  EXPECT_EQ(llama.max_positions, 2048);
  EXPECT_EQ(llama.rope->theta, 10000.0);
  const ModelConfig gpt2 =
      parsed("gpt2", {{"n_inner", ""}, {"layer_norm_epsilon", ""}, {"activation_function", ""}});
  EXPECT_EQ(gpt2.ffn, 256);
  EXPECT_EQ(gpt2.norm_eps, 1e-5F);
}

TEST(HonouredKeys, NullIsNotGiven) {
  for (const char* family : {"llama", "mistral", "qwen2"}) {
    EXPECT_EQ(parsed(family, {{"num_key_value_heads", "null"}}).kv_heads, 4) << family;
  }
  const ModelConfig c = parsed("llama", {{"head_dim", "null"},
                                         {"rope_scaling", "null"},
                                         {"rope_parameters", "null"},
                                         {"quantization_config", "null"},
                                         {"num_experts", "null"},
                                         {"tie_word_embeddings", "null"},
                                         {"layer_types", "null"},
                                         {"attention_dropout", "null"}});
  EXPECT_EQ(c.head_dim, 16);
  EXPECT_FALSE(c.tied_head);
}

TEST(HonouredKeys, HeadDimNeedNotFollowFromTheWidth) {
  const ModelConfig c = parsed("llama", {{"num_attention_heads", "6"}, {"head_dim", "32"}});
  EXPECT_EQ(c.head_dim, 32);
  EXPECT_EQ(c.q_width(), 192);
  EXPECT_EQ(c.kv_width(), 64);
  EXPECT_EQ(c.qkv_width(), 320);
  EXPECT_EQ(parsed("llama", {{"head_dim", "256"}}).head_dim, 256);
}

TEST(HonouredKeys, BiasesAddTheirParameters) {
  const std::int64_t plain = parameter_count(parsed("llama"));
  const auto more = [&](const char* family, const Keys& keys) {
    return parameter_count(parsed(family, keys)) - plain;
  };
  constexpr std::int64_t kLayers = 2;
  EXPECT_EQ(more("llama", {{"attention_bias", "true"}}), kLayers * (64 + 2 * 32 + 64));
  EXPECT_EQ(more("llama", {{"mlp_bias", "true"}}), kLayers * (2 * 128 + 64));
  EXPECT_EQ(more("llama", {{"tie_word_embeddings", "true"}}), -1000 * 64);
  EXPECT_EQ(more("qwen2", {}), kLayers * (64 + 2 * 32)) << "on q, k and v alone";
  EXPECT_EQ(more("qwen2", {{"attention_bias", "true"}}), kLayers * (64 + 2 * 32));
  EXPECT_EQ(more("mistral", {{"attention_bias", "false"}}), 0);
  EXPECT_EQ(parameter_count(parsed("gpt2", {{"tie_word_embeddings", "false"}})) -
                parameter_count(parsed("gpt2")),
            1000 * 64);
}

TEST(HonouredKeys, InnerWidthOfGpt2) { EXPECT_EQ(parsed("gpt2", {{"n_inner", "96"}}).ffn, 96); }

TEST(HonouredKeys, OtherNamesOfTheSameActivation) {
  EXPECT_EQ(refusal(config_text("llama", {{"hidden_act", "\"swish\""}})), "");
  EXPECT_EQ(refusal(config_text("gpt2", {{"activation_function", "\"gelu_pytorch_tanh\""}})), "");
}

/// The window that a config gets, 0 for none.
std::int64_t window(const char* family, const Keys& keys) {
  return parsed(family, keys).sliding_window.value_or(0);
}

TEST(SlidingWindow, IsWhatTheFamilyTakesItFor) {
  const Keys given = {{"sliding_window", "96"}};
  EXPECT_EQ(window("mistral", given), 96);
  EXPECT_EQ(window("mistral", {{"sliding_window", "null"}}), 0);
  EXPECT_EQ(window("mistral", {{"sliding_window", ""}}), 4096) << "transformers' default";
  EXPECT_EQ(window("mistral", {{"sliding_window", "96"}, {"use_sliding_window", "false"}}), 0);
  EXPECT_EQ(window("qwen2", given), 0) << "given, but not in use";
  EXPECT_EQ(window("qwen2", {{"sliding_window", "96"}, {"use_sliding_window", "false"}}), 0);
  const auto qwen2 = [](const char* size, const char* full_layers) {
    return window("qwen2", {{"sliding_window", size},
                            {"use_sliding_window", "true"},
                            {"max_window_layers", full_layers}});
  };
  EXPECT_EQ(qwen2("96", "1"), 96);
  EXPECT_EQ(qwen2("", "0"), 4096);
  EXPECT_EQ(qwen2("96", ""), 0) << "transformers' default, 28, is more layers than there are";
  EXPECT_EQ(window("llama", given), 0) << "llama has none";
}

TEST(SlidingWindow, LayerTypesSayWhetherAnyLayerSlides) {
  const auto qwen2 = [](const char* used, const char* first, const char* second) {
    return window("qwen2", {{"sliding_window", "96"},
                            {"use_sliding_window", used},
                            {"layer_types", std::string("[\"") + first + "_attention\", \"" +
                                                second + "_attention\"]"}});
  };
  EXPECT_EQ(qwen2("false", "full", "full"), 0);
  EXPECT_EQ(qwen2("true", "full", "full"), 0);
  EXPECT_EQ(qwen2("true", "full", "sliding"), 96);
  EXPECT_EQ(qwen2("true", "sliding", "sliding"), 96);
}

TEST(SlidingWindow, LongerSequencesAreRefused) {
  const ModelConfig c = parsed("mistral", {{"sliding_window", "96"}});
  EXPECT_NO_THROW(require_positions(c, 96));
  try {
    require_positions(c, 97);
    FAIL();
  } catch (const BadInput& error) {
    EXPECT_EQ(std::string(error.what()).rfind("seq: ", 0), 0U) << error.what();
    EXPECT_NE(std::string(error.what()).find("96"), std::string::npos) << error.what();
  }
}

TEST(Positions, LearnedOnesAreALimitRotatedOnesAreNot) {
  EXPECT_NO_THROW(require_positions(parsed("gpt2"), 128));
  EXPECT_THROW(require_positions(parsed("gpt2"), 129), BadInput);
  EXPECT_NO_THROW(require_positions(parsed("llama"), 100'000));
}

TEST(RopeScaling, Linear) {
  for (const char* key : {"type", "rope_type"}) {
    const auto rope =
        parsed("llama",
               {{"rope_scaling", std::string("{\"") + key + "\": \"linear\", \"factor\": 4}"}})
            .rope;
    EXPECT_EQ(rope->scaling, Rope::Scaling::Linear);
    EXPECT_EQ(rope->factor, 4.0);
  }
}

TEST(RopeScaling, Llama3) {
  const char* kScaling =
      "{\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 1.0,"
      " \"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 8192";
  const std::string theta = ", \"rope_theta\": 500000.0}";
  for (const Keys& keys :
       {Keys{{"rope_scaling", std::string(kScaling) + "}"}, {"rope_theta", "500000.0"}},
        Keys{{"rope_parameters", kScaling + theta}}}) {
    const auto rope = parsed("llama", keys).rope;
    EXPECT_EQ(rope->scaling, Rope::Scaling::Llama3);
    EXPECT_EQ(rope->theta, 500000.0);
    EXPECT_EQ(rope->factor, 8.0);
    EXPECT_EQ(rope->low_freq_factor, 1.0);
    EXPECT_EQ(rope->high_freq_factor, 4.0);
    EXPECT_EQ(rope->original_positions, 8192.0);
  }
}

TEST(RopeScaling, NoneByOtherWords) {
  const Keys ways[] = {{{"rope_scaling", "{}"}},
                       {{"rope_scaling", "{\"rope_type\": \"default\"}"}},
                       {{"rope_parameters", "{\"rope_type\": \"default\", \"rope_theta\": 1e4}"}},
                       {{"rope_parameters", "{\"rope_theta\": 10000}"}},
                       {{"partial_rotary_factor", "1.0"}}};
  for (const Keys& keys : ways) {
    const auto rope = parsed("llama", keys).rope;
    EXPECT_EQ(rope->scaling, Rope::Scaling::None);
    EXPECT_EQ(rope->theta, 10000.0);
  }
}

void expect_dropout(const char* family, const Keys& keys, const Dropout& expected) {
  const Dropout dropout = parsed(family, keys).dropout;
  EXPECT_EQ(dropout.embedding, expected.embedding) << family;
  EXPECT_EQ(dropout.attention, expected.attention) << family;
  EXPECT_EQ(dropout.residual, expected.residual) << family;
  EXPECT_EQ(dropout.any(), expected.any());
}

TEST(Dropout, IsReadByEachFamilysNames) {
  const Keys left_out = {{"embd_pdrop", ""}, {"attn_pdrop", ""}, {"resid_pdrop", ""}};
  expect_dropout("gpt2", left_out, {0.1, 0.1, 0.1});
  expect_dropout("gpt2", {{"attn_pdrop", "0.2"}, {"resid_pdrop", "0.3"}}, {0, 0.2, 0.3});
  expect_dropout("gpt2", {}, {});
  for (const char* family : {"llama", "mistral", "qwen2", "gemma", "phi", "gpt_neox"}) {
    expect_dropout(family, {}, {});
    expect_dropout(family, {{"attention_dropout", "0.5"}}, {0, 0.5, 0});
  }
  expect_dropout("phi", {{"embd_pdrop", "0.2"}, {"resid_pdrop", "0.1"}}, {0.2, 0, 0.1});
  expect_dropout("gpt_neox", {{"hidden_dropout", "0.1"}}, {0.1, 0, 0.1});
}

TEST(StoredType, IsTorchsNameOfIt) {
  const auto dtype = [](const Keys& keys) { return parsed("llama", keys).dtype; };
  EXPECT_EQ(dtype({}), "");
  EXPECT_EQ(dtype({{"torch_dtype", "null"}}), "");
  EXPECT_EQ(dtype({{"torch_dtype", "\"auto\""}}), "");
  EXPECT_EQ(dtype({{"torch_dtype", "\"float16\""}}), "float16");
  EXPECT_EQ(dtype({{"dtype", "\"torch.bfloat16\""}}), "bfloat16");
  EXPECT_EQ(dtype({{"torch_dtype", "\"float16\""}, {"dtype", "\"float32\""}}), "float32")
      << "as in transformers";
  EXPECT_EQ(dtype({{"dtype", "\"float8_e4m3fn\""}}), "float8_e4m3fn") << "refused where it counts";
}

TEST(OtherKeys, ChangeNothing) {
  const Keys unrelated = {{"torch_dtype", "\"float16\""},
                          {"use_cache", "false"},
                          {"bos_token_id", "[1, 2]"},
                          {"pretraining_tp", "2"},
                          {"architectures", "[\"XForCausalLM\"]"},
                          {"max_window_layers", "28"}};
  for (const char* family : {"llama", "mistral", "qwen2", "gpt2", "gemma", "phi", "gpt_neox"}) {
    EXPECT_EQ(parameter_count(parsed(family, unrelated)), parameter_count(parsed(family)));
  }
}

}  // namespace
}  // namespace vramfit
