#include "tests/model/published_models.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config/hugging_face.h"
#include "model/transformer/parameters.h"
#include "tests/support/scratch_folder.h"

namespace vramfit {
namespace {

nlohmann::json published_counts() {
  return nlohmann::json::parse(text_of(models_folder() / "parameters.json"));
}

TEST(PublishedModels, AreTheOnesWithAPublishedCount) {
  const nlohmann::json counts = published_counts();
  std::vector<std::string> names;
  for (const auto& [name, entry] : counts.items()) names.push_back(name);
  EXPECT_EQ(published_names(), names);
}

TEST(PublishedModels, HaveTheirPublishedCountToTheLastParameter) {
  const nlohmann::json counts = published_counts();
  for (const std::string& name : published_names()) {
    EXPECT_EQ(parameter_count(published(name)), counts[name]["parameters"].get<std::int64_t>())
        << name;
  }
}

TEST(PublishedModels, StoreNoMoreThanThePaddingOfTheirVocabulary) {
  for (const std::string& name : published_names()) {
    const ModelConfig config = published(name);
    const std::int64_t rows = (config.vocab + 127) / 128 * 128 - config.vocab;
    const std::int64_t tables = config.tied_head ? 1 : 2;  // phi's and gpt_neox's need no padding
    EXPECT_EQ(stored_parameter_count(config) - parameter_count(config),
              tables * rows * config.hidden)
        << name;
  }
  const ModelConfig gpt2 = published("gpt2-1.5b");
  EXPECT_EQ(stored_parameter_count(gpt2) - parameter_count(gpt2), (50304 - 50257) * 1600);
}

TEST(PublishedModels, AreNamedAfterTheirFolders) {
  for (const std::string& name : published_names()) EXPECT_EQ(published(name).name, name);
}

TEST(PublishedModels, MeanWhatTheirFilesSay) {
  EXPECT_EQ(published("mistral-7b").sliding_window, 4096);
  EXPECT_EQ(published("qwen2-7b").sliding_window, std::nullopt) << "use_sliding_window is false";
  EXPECT_TRUE(published("qwen2-0.5b").tied_head);
  EXPECT_FALSE(published("qwen2-7b").tied_head);
  EXPECT_TRUE(published("qwen2-7b").qkv_bias);
  EXPECT_FALSE(published("qwen2-7b").out_bias);
  EXPECT_EQ(published("llama2-70b").kv_heads, 8);
  EXPECT_EQ(published("llama2-7b").kv_heads, 32);
  EXPECT_EQ(published("llama3-8b").rope->theta, 500000.0);
  EXPECT_EQ(published("gpt2-1.5b").head_dim, 64);
  EXPECT_EQ(published("gpt2-124m").dropout.residual, 0.1);
  EXPECT_EQ(published("llama3.2-1b").rope->scaling, Rope::Scaling::Llama3);
  EXPECT_TRUE(published("smollm-360m").tied_head);
  EXPECT_EQ(published("gemma-2b").q_width(), 2048);
  EXPECT_EQ(published("gemma-2b").kv_width(), 256) << "one head of keys and values";
  EXPECT_EQ(published("phi-2").rotary_dim(), 32);
  EXPECT_EQ(published("phi-2").dropout.residual, 0.1);
  EXPECT_EQ(published("pythia-1b").rotary_dim(), 64);
  EXPECT_EQ(published("qwen3-0.6b").q_width(), 2048) << "twice the hidden size";
  EXPECT_EQ(published("phi3-mini").sliding_window, 2047);
  EXPECT_TRUE(published("gemma2-2b").slides(24));
  EXPECT_FALSE(published("gemma3-1b").slides(5));
  EXPECT_TRUE(published("granite-3.1-2b").tied_head);
  EXPECT_TRUE(published("llama2-7b").notes.empty());
}

TEST(PublishedModels, ListEveryParameterOnce) {
  for (const std::string& name : published_names()) {
    const std::vector<ParameterSpec> specs = parameter_specs(published(name));
    std::vector<std::string> names;
    for (const ParameterSpec& spec : specs) {
      names.push_back(spec.name.text());
      EXPECT_EQ(spec.decays, spec.shape.rank() == 2) << name << " " << names.back();
      EXPECT_EQ(spec.stored.rank(), spec.shape.rank());
    }
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << name;
  }
}

}  // namespace
}  // namespace vramfit
