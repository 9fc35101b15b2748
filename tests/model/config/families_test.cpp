#include "model/config/families.h"

#include <gtest/gtest.h>

#include "model/config/hugging_face.h"
#include "model/errors.h"
#include "model/transformer/parameters.h"
#include "model/transformer/run.h"
#include "tests/model/config/config_text.h"

namespace vramfit {
namespace {

struct Counted {
  const char* family;
  Keys keys;
  std::int64_t parameters;
};

// Counted by transformers 5.17 on PyTorch's meta device, from the same keys.
TEST(Families, CountWhatTransformersCounts) {
  const Counted cases[] = {
      {"gemma", {}, 506'688},
      {"gemma",
       {{"num_key_value_heads", "1"}, {"head_dim", "32"}, {"attention_bias", "true"}},
       154'944},
      {"gemma", {{"tie_word_embeddings", "false"}}, 570'688},
      {"phi", {}, 195'816},
      {"phi", {{"num_key_value_heads", "2"}}, 187'496},
      {"phi", {{"num_key_value_heads", "2"}, {"qk_layernorm", "true"}}, 187'624},
      {"phi", {{"num_key_value_heads", "2"}, {"tie_word_embeddings", "true"}}, 123'496},
      {"gpt_neox", {}, 195'072},
      {"gpt_neox", {{"attention_bias", "false"}}, 194'560},
      {"gpt_neox", {{"use_parallel_residual", "false"}}, 195'072},
      {"gpt_neox", {{"tie_word_embeddings", "true"}}, 131'072},
  };
  for (const Counted& c : cases) {
    EXPECT_EQ(parameter_count(parsed(c.family, c.keys)), c.parameters)
        << config_text(c.family, c.keys);
  }
}

// By hand from modeling_<family>.py.
TEST(Families, CountTheirNormsAndProjections) {
  const Counted cases[] = {
      {"qwen3", {}, 374'592},
      {"qwen3", {{"head_dim", "16"}, {"attention_bias", "true"}}, 202'496},
      {"qwen3", {{"tie_word_embeddings", "true"}}, 310'592},
      {"olmo2", {}, 202'240},
      {"olmo2", {{"num_key_value_heads", ""}}, 210'496},
      {"phi3", {}, 202'048},
      {"granite", {}, 202'048},
      {"granite", {{"attention_bias", "true"}, {"mlp_bias", "true"}}, 203'072},
      {"gemma2", {}, 506'944},
      {"gemma3_text", {}, 507'968},
  };
  for (const Counted& c : cases) {
    EXPECT_EQ(parameter_count(parsed(c.family, c.keys)), c.parameters)
        << config_text(c.family, c.keys);
  }
}

TEST(Families, Qwen3) {
  const ModelConfig c = parsed("qwen3");
  EXPECT_EQ(c.head_dim, 128) << "transformers' default, not hidden / heads";
  EXPECT_EQ(c.qk_norm, QkNorm::Head);
  EXPECT_EQ(c.q_norm_width(), 128);
  EXPECT_FALSE(c.sliding_window);
}

TEST(Families, Olmo2) {
  const ModelConfig c = parsed("olmo2", {{"rms_norm_eps", ""}});
  EXPECT_EQ(c.qk_norm, QkNorm::Width);
  EXPECT_EQ(c.k_norm_width(), 32);
  EXPECT_EQ(c.block_norms, BlockNorms::After);
  EXPECT_EQ(c.norm_eps, 1e-5F);
}

TEST(Families, Phi3) {
  EXPECT_EQ(parsed("phi3").rotary_dim(), 16);
  EXPECT_EQ(parsed("phi3", {{"partial_rotary_factor", "0.75"}}).rotary_dim(), 12);
  EXPECT_EQ(parsed("phi3", {{"resid_pdrop", "0.1"}}).dropout.residual, 0.1);
  EXPECT_FALSE(parsed("phi3", {{"sliding_window", ""}}).sliding_window);
  const ModelConfig c = parsed("phi3", {{"sliding_window", "96"}});
  EXPECT_TRUE(c.slides(0) && c.slides(1));
}

TEST(Families, Gemma2SlidesInEveryOtherLayer) {
  const ModelConfig c = parsed("gemma2");
  EXPECT_EQ(c.sliding_window, 96);
  EXPECT_TRUE(c.slides(0));
  EXPECT_FALSE(c.slides(1));
  EXPECT_EQ(c.block_norm_count(), 4U);
  EXPECT_TRUE(c.scores_softcap && c.logits_softcap) << "where nothing is said";
  EXPECT_FALSE(parsed("gemma2", {{"attn_logit_softcapping", "null"}}).scores_softcap);
  EXPECT_FALSE(parsed("gemma2", {{"final_logit_softcapping", "null"}}).logits_softcap);
  const ModelConfig full =
      parsed("gemma2", {{"layer_types", "[\"full_attention\", \"full_attention\"]"}});
  EXPECT_EQ(full.sliding_window, 96) << "its mask is made all the same";
  EXPECT_FALSE(full.slides(0));
}

TEST(Families, Gemma3SlidesInFiveLayersOfSix) {
  const ModelConfig c = parsed("gemma3_text", {{"num_hidden_layers", "12"}});
  for (std::int64_t layer = 0; layer < 12; ++layer) EXPECT_EQ(c.slides(layer), layer % 6 != 5);
  EXPECT_FALSE(parsed("gemma3_text", {{"sliding_window_pattern", "2"}}).slides(1));
  EXPECT_EQ(c.qk_norm, QkNorm::Head);
  EXPECT_FALSE(c.scores_softcap || c.logits_softcap) << "where nothing is said";
  EXPECT_TRUE(parsed("gemma3_text", {{"final_logit_softcapping", "30.0"}}).logits_softcap);
  EXPECT_EQ(c.rope->theta, 1e6);
  const ModelConfig by_kind = parsed(
      "gemma3_text",
      {{"rope_parameters",
        "{\"full_attention\": {\"rope_type\": \"linear\", \"factor\": 8, \"rope_theta\": 5e5},"
        " \"sliding_attention\": {\"rope_type\": \"default\"}}"}});
  EXPECT_EQ(by_kind.rope->theta, 5e5);
  EXPECT_EQ(by_kind.rope->scaling, Rope::Scaling::Linear);
}

TEST(Families, Gemma) {
  const ModelConfig c = parsed("gemma");
  EXPECT_EQ(c.head_dim, 256) << "transformers' default, not hidden / heads";
  EXPECT_EQ(c.norm, NormKind::RmsNorm);
  EXPECT_EQ(c.activation, ActivationKind::GeGlu);
  EXPECT_EQ(c.hidden_act, "gelu");
  EXPECT_EQ(parsed("gemma", {{"hidden_act", ""}}).hidden_act, "gelu_pytorch_tanh");
  EXPECT_EQ(c.up_width(), 256);
  EXPECT_EQ(c.rotary_dim(), 256);
  EXPECT_EQ(c.residual, Residual::Sequential);
  EXPECT_TRUE(c.tied_head);
  EXPECT_EQ(parsed("gemma", {{"max_position_embeddings", ""}}).max_positions, 8192);
}

TEST(Families, Phi) {
  const ModelConfig c = parsed("phi");
  EXPECT_EQ(c.norm, NormKind::LayerNorm);
  EXPECT_EQ(c.activation, ActivationKind::Gelu);
  EXPECT_EQ(c.hidden_act, "gelu_new");
  EXPECT_EQ(c.residual, Residual::ParallelOneNorm);
  EXPECT_EQ(c.rotary_dim(), 8) << "half of a head, where nothing is said";
  EXPECT_TRUE(c.qkv_bias && c.out_bias && c.mlp_bias && c.head_bias);
  EXPECT_FALSE(c.tied_head);
  EXPECT_EQ(c.qk_norm, QkNorm::None);
}

TEST(Families, GptNeox) {
  const ModelConfig c = parsed("gpt_neox");
  EXPECT_EQ(c.kv_heads, 4);
  EXPECT_EQ(c.residual, Residual::Parallel);
  EXPECT_EQ(parsed("gpt_neox", {{"use_parallel_residual", "false"}}).residual,
            Residual::Sequential);
  EXPECT_EQ(c.rotary_dim(), 4) << "a quarter of a head, where nothing is said";
  EXPECT_EQ(parsed("gpt_neox", {{"hidden_act", ""}}).hidden_act, "gelu");
  EXPECT_TRUE(c.mlp_bias);
  EXPECT_FALSE(c.head_bias || c.tied_head);
}

TEST(Families, RotateAShareOfEachHead) {
  const auto rotated = [](const char* family, const Keys& keys) {
    return parsed(family, keys).rotary_dim();
  };
  EXPECT_EQ(rotated("phi", {{"partial_rotary_factor", "0.25"}}), 4);
  EXPECT_EQ(rotated("phi", {{"rope_parameters", "{\"partial_rotary_factor\": 0.75}"}}), 12);
  EXPECT_EQ(rotated("phi", {{"rope_parameters", "{\"rope_theta\": 10000.0}"}}), 8);
  EXPECT_EQ(rotated("gpt_neox", {{"rotary_pct", "1.0"}}), 16);
  EXPECT_EQ(rotated("gpt_neox", {{"rope_parameters", "{\"partial_rotary_factor\": 0.5}"}}), 8);
  EXPECT_EQ(parsed("gpt_neox", {{"rotary_emb_base", "5000"}}).rope->theta, 5000.0);
}

struct RefusedOfFamily {
  const char* family;
  Keys keys;
  const char* message;
};

TEST(Families, RefuseWhatTheyDoNotHave) {
  const RefusedOfFamily cases[] = {
      {"gemma", {{"hidden_act", "\"silu\""}}, "hidden_act: is \"silu\"; one of gelu_pytorch_tanh"},
      {"gemma", {{"hidden_activation", "\"relu\""}}, "hidden_activation: is \"relu\"; one of"},
      {"gemma", {{"use_bidirectional_attention", "true"}}, "use_bidirectional_attention: is true"},
      {"gemma", {{"num_key_value_heads", ""}}, "num_key_value_heads: missing"},
      {"gemma", {{"partial_rotary_factor", "0.5"}}, "partial_rotary_factor: partial rotation"},
      {"gemma", {{"head_dim", "512"}}, "head_dim: is 512"},
      {"phi", {{"head_dim", "16"}}, "head_dim: phi has none"},
      {"phi", {{"hidden_act", "\"silu\""}}, "hidden_act: is \"silu\"; one of gelu_new"},
      {"phi", {{"partial_rotary_factor", "0.2"}}, "partial_rotary_factor: rotates 3 of 16"},
      {"phi", {{"partial_rotary_factor", "0"}}, "partial_rotary_factor: rotates 0 of 16"},
      {"phi", {{"partial_rotary_factor", "1.5"}}, "partial_rotary_factor: is 1.5; a number from"},
      {"phi", {{"qk_layernorm", "1"}}, "qk_layernorm: is 1; true or false"},
      {"phi", {{"resid_pdrop", "2"}}, "resid_pdrop: is 2; a number from"},
      {"gpt_neox", {{"head_dim", "16"}}, "head_dim: gpt_neox has none"},
      {"gpt_neox", {{"num_key_value_heads", "2"}}, "num_key_value_heads: gpt_neox has as many"},
      {"gpt_neox", {{"partial_rotary_factor", "0.5"}}, "gpt_neox calls it rotary_pct"},
      {"gpt_neox", {{"rotary_pct", "0.01"}}, "rotary_pct: rotates 0 of 16"},
      {"gpt_neox", {{"num_attention_heads", "5"}}, "num_attention_heads: 5 heads do not divide"},
      {"gpt_neox", {{"intermediate_size", ""}}, "intermediate_size: missing"},
      {"qwen3", {{"num_key_value_heads", ""}}, "num_key_value_heads: missing"},
      {"qwen3", {{"mlp_bias", "true"}}, "mlp_bias: is true; only false"},
      {"qwen3", {{"use_sliding_window", "1"}}, "use_sliding_window: is 1; true or false"},
      {"olmo2", {{"partial_rotary_factor", "0.5"}}, "partial_rotary_factor: partial rotation"},
      {"olmo2", {{"mlp_bias", "true"}}, "mlp_bias: is true; only false"},
      {"phi3", {{"attention_bias", "true"}}, "attention_bias: is true; only false"},
      {"phi3", {{"rope_scaling", "{\"type\": \"ntk\"}"}}, "type: is \"ntk\"; one of default"},
      {"granite", {{"logits_scaling", "\"8\""}}, "logits_scaling"},
      {"gemma2", {{"sliding_window", "null"}}, "sliding_window: is null"},
      {"gemma2", {{"hidden_activation", "\"relu\""}}, "hidden_activation: is \"relu\"; one of"},
      {"gemma3_text",
       {{"use_bidirectional_attention", "true"}},
       "use_bidirectional_attention: is true"},
      {"gemma3_text", {{"final_logit_softcapping", "true"}}, "final_logit_softcapping"},
  };
  for (const RefusedOfFamily& c : cases) {
    const std::string message = refusal(config_text(c.family, c.keys));
    EXPECT_NE(message.find(c.message), std::string::npos) << message << "\nsays not " << c.message;
  }
}

template <typename Options>
void expect_not_run(const ModelConfig& config) {
  try {
    validate(config, Options{});
    ADD_FAILURE() << config.family << " is run";
  } catch (const BadInput& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.rfind("model: tiny is of the family " + config.family, 0), 0U) << message;
    EXPECT_NE(message.find("another --runtime"), std::string::npos) << message;
  }
}

TEST(Families, OurOwnStepProgramSaysWhichItDoesNotRun) {
  for (const char* family :
       {"gemma", "phi", "gpt_neox", "olmo2", "phi3", "granite", "gemma2", "gemma3_text"}) {
    expect_not_run<TrainingOptions>(parsed(family));
    expect_not_run<GenerationOptions>(parsed(family));
  }
  for (const char* family : {"llama", "mistral", "qwen2", "gpt2", "qwen3"}) {
    EXPECT_TRUE(runs_on_vramfit(parsed(family))) << family;
  }
}

}  // namespace
}  // namespace vramfit
