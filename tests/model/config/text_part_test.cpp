#include "model/config/text_part.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config/hugging_face.h"
#include "model/errors.h"

namespace vramfit {
namespace {

/// google/gemma-3-4b-it's, as the hub has it: what is as its class's defaults is left out.
constexpr const char* kGemma = R"({
  "architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3",
  "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text",
    "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
    "sliding_window": 1024},
  "torch_dtype": "bfloat16", "vision_config": {"hidden_size": 1152}})";

TEST(TextPart, IsFilledWithItsClassesDefaults) {
  const ModelConfig model = parse_hugging_face(kGemma, "gemma-3-4b-it");
  EXPECT_EQ(model.family, "gemma3_text");
  EXPECT_EQ(model.layers, 34);
  EXPECT_EQ(model.heads, 8);
  EXPECT_EQ(model.kv_heads, 4);
  EXPECT_EQ(model.head_dim, 256);
  EXPECT_EQ(model.vocab, 262'208);
  EXPECT_EQ(model.max_positions, 131'072);
  EXPECT_EQ(model.dtype, "bfloat16");
  ASSERT_EQ(model.notes.size(), 2U);
  EXPECT_EQ(model.notes[0],
            "its text model alone: not counted is vision_config, which vramfit model runs as well");
  EXPECT_NE(model.notes[1].find("num_attention_heads 8"), std::string::npos);
}

TEST(TextPart, IsAModelsOwnConfigWhereItIsWhole) {
  nlohmann::json whole = nlohmann::json::parse(kGemma);
  for (const char* key : {"num_attention_heads", "num_key_value_heads", "head_dim", "vocab_size",
                          "max_position_embeddings"}) {
    EXPECT_FALSE(whole["text_config"].contains(key));
  }
  whole["text_config"].update({{"num_attention_heads", 8},
                               {"num_key_value_heads", 4},
                               {"head_dim", 256},
                               {"vocab_size", 262'208},
                               {"max_position_embeddings", 131'072}});
  EXPECT_EQ(parse_hugging_face(whole.dump(), "x").notes.size(), 1U);
}

TEST(TextPart, IsQuantisedAsTheWholeIs) {
  nlohmann::json whole = nlohmann::json::parse(kGemma);
  whole["quantization_config"] = {{"quant_method", "awq"}, {"bits", 4}};
  const auto read = [](const nlohmann::json& config) {
    try {
      return parse_hugging_face(config.dump(), "x").stored_quant.empty() ? "plain" : "quantised";
    } catch (const BadInput&) {
      return "refused";
    }
  };
  nlohmann::json within = whole;
  within["text_config"]["quantization_config"] = within["quantization_config"];
  within.erase("quantization_config");
  EXPECT_STREQ(read(whole), read(within));
  EXPECT_STRNE(read(whole), "plain");
}

TEST(TextPart, OfQwensModelsThatSeeTurnsInOneDimension) {
  const ModelConfig model = parse_hugging_face(
      R"({"architectures": ["Qwen2_5_VLForConditionalGeneration"], "model_type": "qwen2_5_vl",
          "hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28,
          "num_hidden_layers": 28, "num_key_value_heads": 4, "vocab_size": 152064,
          "max_position_embeddings": 128000, "use_sliding_window": false,
          "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
          "tie_word_embeddings": false, "vision_config": {"depth": 32}})",
      "Qwen2.5-VL-7B-Instruct");
  EXPECT_EQ(model.family, "qwen2");
  EXPECT_EQ(model.layers, 28);
  EXPECT_EQ(model.notes.back(), "rotated in one dimension, not in time, height and width");
}

TEST(TextPart, OfNoFamilyHereIsRefused) {
  EXPECT_THROW(
      parse_hugging_face(R"({"model_type": "llava", "text_config": {"model_type": "opt"}})", "x"),
      UnknownModel);
}

TEST(TextPart, LeavesOtherConfigsAlone) {
  nlohmann::json text = {{"model_type", "llama"}, {"hidden_size", 64}};
  const nlohmann::json before = text;
  EXPECT_TRUE(take_text_part(text, "x").empty());
  EXPECT_EQ(text, before);
}

}  // namespace
}  // namespace vramfit
