#include "estimator/models.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "estimator/data.h"
#include "estimator/names.h"
#include "estimator/runtimes.h"
#include "estimator/shapes.h"
#include "model/transformer/parameters.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

TEST(Models, EachHasItsPublishedParameterCount) {
  const auto published = nlohmann::json::parse(data_text("models/parameters.json"));
  ASSERT_EQ(published.size(), model_names().size());
  for (const std::string& name : model_names()) {
    const ModelConfig model = model_named(name);
    EXPECT_EQ(model.name, name);
    EXPECT_EQ(parameter_count(model), published.at(name).at("parameters").get<std::int64_t>())
        << name;
  }
}

TEST(Models, AnUnknownNameListsTheKnown) {
  expect_bad_input([] { model_named("llama4-7b"); },
                   {"model: unknown 'llama4-7b'", "did you mean 'llama-7b', 'llama2-7b'"});
  expect_bad_input([] { model_named(""); }, {"model: unknown ''"});
}

TEST(Models, AreCalledManyNames) {
  for (const char* called : {"llama3-8b", "Llama-3-8B", "llama3_8b", "Meta-Llama-3-8B",
                             "meta-llama/Meta-Llama-3-8B", "meta-llama/Meta-Llama-3-8B-Instruct"}) {
    EXPECT_EQ(shipped_model(called), "llama3-8b") << called;
  }
  EXPECT_EQ(shipped_model("gpt2"), "gpt2-124m");
  EXPECT_EQ(shipped_model("meta-llama/Llama-3.1-8B"), "llama3.1-8b");
  EXPECT_EQ(shipped_model("meta-llama/Llama-3.1-9B"), std::nullopt);
  expect_bad_input([] { model_named("lama2-7b"); },
                   {"model: unknown 'lama2-7b'; did you mean 'llama2-7b'"});
  expect_bad_input([] { model_named("colossus"); }, {"--params 7B"});
}

TEST(Models, OfShapesAreCalledAsPeopleTypeThem) {
  const std::vector<std::pair<const char*, const char*>> called = {
      {"qwen2.5 7b", "qwen2.5-7b"},
      {"Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b-instruct"},
      {"Qwen/Qwen2.5-Coder-32B-Instruct", "qwen2.5-32b-instruct"},
      {"unsloth/Llama-3.2-3B-Instruct", "llama3.2-3b"},
      {"llama3.1:8b", "llama3.1-8b"},
      {"llama 3.3 70b", "llama3.1-70b"},
      {"mistral-nemo", "mistral-nemo-12b"},
      {"mistral 7b instruct v0.3", "mistral-7b-v0.3"},
      {"gemma-2-9b-it", "gemma2-9b"},
      {"gemma3:27b", "gemma3-27b"},
      {"phi-4", "phi4-14b"},
      {"phi-4-mini-instruct", "phi4-mini"},
      {"deepseek-r1:7b", "deepseek-r1-distill-qwen-7b"},
      {"mixtral", "mixtral-8x7b"},
      {"openai/gpt-oss-20b", "gpt-oss-20b"},
      {"qwen3-8b-instruct", "qwen3-8b"},
      {"tinyllama", "tinyllama-1.1b"},
      {"qwen3-next", "qwen3-next-80b-a3b"},
      {"mistral large", "mistral-large-123b"},
      {"vicuna:7b", "llama2-7b"},
      {"NousResearch/Hermes-3-Llama-3.1-8B", "llama3.1-8b"},
      {"yi:34b-chat", "yi-34b"},
      {"01-ai/Yi-1.5-9B-Chat", "yi-1.5-9b"},
      {"deepseek-coder:6.7b-instruct", "deepseek-coder-6.7b"},
      {"granite3.3:8b", "granite-3.3-8b"},
      {"gemma3:270m", "gemma3-270m"},
      {"gemma4:e4b", "gemma4-e4b"},
      {"google/gemma-4-E2B-it", "gemma4-e2b"},
      {"codegemma:7b-instruct", "gemma-7b"},
      {"codegemma:2b", "gemma-2b"},
      {"command-r-plus", "command-r-plus-104b"},
      {"glm-4.5", "glm-4.5"},
      {"zai-org/GLM-4.5-Air", "glm-4.5-air"},
      {"qwen:32b", "qwen1.5-32b"},
  };
  for (const auto& [typed, name] : called) EXPECT_EQ(shipped_model(typed), name) << typed;
  // Of several sizes none is meant.
  for (const char* typed : {"qwen3", "gemma3", "pythia", "b", ""}) {
    EXPECT_EQ(shipped_model(typed), std::nullopt) << typed;
  }
}

/// Their totals as the hub's model pages show them: recalled, and from deepseek-coder on as public
/// copies of them have.
TEST(Models, OfShapesHaveTheParametersThatTheHubCounts) {
  const std::vector<std::pair<const char*, std::int64_t>> published = {
      {"llama3.2-3b", 3'212'749'824},
      {"llama3.1-70b", 70'553'706'496},
      {"llama3.1-405b", 405'853'388'800},
      {"qwen2.5-0.5b", 494'032'768},
      {"qwen2.5-3b", 3'085'938'688},
      {"qwen2.5-7b", 7'615'616'512},
      {"qwen2.5-14b", 14'770'033'664},
      {"qwen2.5-32b", 32'763'876'352},
      {"qwen2.5-72b", 72'706'203'648},
      {"qwen3-14b", 14'768'307'200},
      {"qwen3-32b", 32'762'123'264},
      {"mistral-7b-v0.3", 7'248'023'552},
      {"mistral-nemo-12b", 12'247'782'400},
      {"mistral-small-24b", 23'572'403'200},
      {"ministral-8b", 8'019'808'256},
      {"gemma-7b", 8'537'680'896},
      {"gemma2-27b", 27'227'128'320},
      {"phi4-mini", 3'836'021'760},
      {"olmo2-7b", 7'298'617'344},
      {"smollm2-135m", 134'515'008},
      {"smollm2-1.7b", 1'711'376'384},
      {"falcon3-10b", 10'305'653'760},
      {"pythia-12b", 11'846'072'320},
      {"deepseek-r1-distill-qwen-1.5b", 1'777'088'000},
      {"olmo2-32b", 32'234'279'936},
      {"smollm-1.7b", 1'711'376'384},
      {"llama-30b", 32'528'943'616},
      {"deepseek-coder-1.3b", 1'346'471'936},
      {"yi-1.5-6b", 6'061'035'520},
      {"deepseek-coder-6.7b", 6'740'512'768},
      {"yi-9b", 8'829'407'232},
      {"deepseek-coder-33b", 33'342'991'360},
      {"yi-34b", 34'388'917'248},
      {"granite-3.3-2b", 2'533'539'840},
      {"granite-3.3-8b", 8'170'864'640},
      {"gemma3-270m", 268'098'176},
      {"qwen1.5-32b", 32'512'218'112},
  };
  for (const auto& [name, parameters] : published) {
    EXPECT_EQ(parameter_count(model_named(name)), parameters) << name;
  }
}

TEST(Models, ShapesAreReadOrTheirFamilyIsRefused) {
  for (const std::string& name : shape_names()) {
    EXPECT_EQ(shipped_model(name), name);
    EXPECT_NO_THROW(runtimes_of(name)) << name;
    try {
      model_named(name);
    } catch (const UnreadModel& unread) {
      EXPECT_NE(unread.source(), nullptr) << name;
    }
  }
}

TEST(Models, NoTwoAreCalledTheSame) {
  for (const std::string& name : model_names()) EXPECT_EQ(shipped_model(name), name);
  const auto published = nlohmann::json::parse(data_text("models/parameters.json"));
  std::set<std::string> all;
  for (const auto& [name, entry] : published.items()) {
    std::vector<std::string> called = entry.value("also", std::vector<std::string>());
    called.push_back(entry.at("hub"));
    for (const std::string& id : called) {
      EXPECT_EQ(shipped_model(id), name) << id;
      EXPECT_TRUE(all.insert(folded(id)).second) << id;
    }
  }
  for (const ModelShape& shape : model_shapes()) {
    for (const std::string& id : shape.also) {
      EXPECT_EQ(shipped_model(id), shape.config == "{}" ? shape.like : shape.name) << id;
      EXPECT_TRUE(all.insert(folded(id)).second) << id;
    }
  }
}

TEST(Models, ANameReachesNoOtherFolder) {
  expect_bad_input([] { model_named("../models/llama2-7b"); }, {"model: unknown"});
}

}  // namespace
}  // namespace vramfit
