#include "runtimes/llamacpp/weights/recipe.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "model/gguf/types.h"
#include "runtimes/llamacpp/architectures/read_hparams.h"
#include "tests/runtimes/llamacpp/recorded.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit::llamacpp {
namespace {

using json = nlohmann::ordered_json;

/// Types by name of a row of recipes.jsonl, for the recipe that it has under `name`.
class Recorded {
 public:
  explicit Recorded(const json& recipe) : default_(recipe["default"]) {
    for (const auto& [type, names] : recipe["others"].items()) {
      for (const json& each : names) add(each, type);
    }
  }

  std::string of(const std::string& name) const {
    const auto found = types_.find(name);
    if (found != types_.end()) return found->second;
    const std::size_t dot = name.find('.', 4);
    const std::string every = name.substr(0, 4) == "blk." ? "blk.N" + name.substr(dot) : name;
    const auto general = types_.find(every);
    return general != types_.end() ? general->second : default_;
  }

 private:
  /// "blk.N.attn_v.weight 0-1 4", or without layers, of all.
  void add(const std::string& text, const std::string& type) {
    std::istringstream words(text);
    std::string name;
    words >> name;
    bool all = true;
    for (std::string range; words >> range; all = false) {
      const std::size_t dash = range.find('-');
      const int first = std::stoi(range);
      const int last = dash == std::string::npos ? first : std::stoi(range.substr(dash + 1));
      for (int i = first; i <= last; ++i)
        types_["blk." + std::to_string(i) + name.substr(5)] = type;
    }
    if (all) types_[name] = type;
  }

  std::string default_;
  std::map<std::string, std::string> types_;
};

TEST(LlamaCppRecipe, GivesEachTensorTheTypeThatItsDryRunDoes) {
  std::map<std::string, std::vector<ModelTensor>> shapes;
  for (const json& row : recorded_lines("models.jsonl")) {
    const std::string name = row["model"];
    shapes.emplace(name.substr(0, name.rfind(' ')), recorded_model(name).tensors);
  }
  int recipes_held = 0;
  for (const json& row : recorded_lines("recipes.jsonl")) {
    const auto found = shapes.find(row["model"]);
    if (found == shapes.end()) continue;
    const Hparams hparams = read_hparams(recorded_metadata(row));
    for (const auto& [name, recipe] : row["recipes"].items()) {
      const Recorded recorded(recipe);
      std::vector<ModelTensor> tensors = found->second;
      apply(parse_recipe(name, "quant"), hparams, tensors);
      for (const ModelTensor& tensor : tensors) {
        EXPECT_EQ(gguf::type_name(tensor.type), recorded.of(tensor.name))
            << row["model"] << " " << name << " " << tensor.name;
      }
      ++recipes_held;
    }
  }
  EXPECT_GE(recipes_held, 500);
}

TEST(LlamaCppRecipe, IsNamedAsUsersSpellIt) {
  for (const Recipe recipe : recipes()) {
    EXPECT_EQ(parse_recipe(recipe_name(recipe), "quant"), recipe);
  }
  EXPECT_EQ(parse_recipe("q4_k_m", "quant"), Recipe::Q4_K_M);
  EXPECT_EQ(parse_recipe("Q4_K", "quant"), Recipe::Q4_K_M);
  EXPECT_EQ(parse_recipe("mxfp4", "quant"), Recipe::MXFP4_MOE);
  expect_bad_input([] { parse_recipe("Q9", "quant"); }, {"quant: unknown 'Q9'; Q4_K_M, "});
}

TEST(LlamaCppRecipe, SaysWhatNeedsAnImportanceMatrix) {
  const Model& model = recorded_model("tinyllama-1.1b F16");
  const auto needs = [&](Recipe recipe) {
    std::vector<ModelTensor> tensors = model.tensors;
    apply(recipe, model.hparams, tensors);
    return requires_importance_matrix(recipe, tensors);
  };
  for (const Recipe recipe : {Recipe::IQ1_S, Recipe::IQ2_XXS, Recipe::IQ2_M, Recipe::Q2_K_S}) {
    EXPECT_TRUE(needs(recipe)) << recipe_name(recipe);
  }
  for (const Recipe recipe : {Recipe::Q2_K, Recipe::Q4_K_M, Recipe::IQ4_XS, Recipe::IQ3_S}) {
    EXPECT_FALSE(needs(recipe)) << recipe_name(recipe);
  }
}

TEST(LlamaCppRecipe, RefusesRowsThatItHasNoBlocksFor) {
  std::vector<ModelTensor> tensors = {{"blk.0.attn_q.weight", {96, 96, 1, 1}, DType::Fp16}};
  Hparams hparams;
  hparams.layers.resize(1);
  expect_bad_input([&] { apply(Recipe::Q1_0, hparams, tensors); }, {"no Q1_0 of rows of 96"});
  apply(Recipe::Q4_K_M, hparams, tensors);
  EXPECT_EQ(tensors[0].type, *Format::named("q5_0"));
  tensors[0].ne[0] = 100;
  apply(Recipe::Q4_K_M, hparams, tensors);
  EXPECT_EQ(tensors[0].type, Format(DType::Fp16));
}

}  // namespace
}  // namespace vramfit::llamacpp
