#include "estimator/models.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "estimator/data.h"
#include "estimator/names.h"
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
                   {"model: unknown 'llama4-7b'", "did you mean 'llama2-7b'"});
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
  expect_bad_input([] { model_named("mixtral"); }, {"--params 7B"});
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
}

TEST(Models, ANameReachesNoOtherFolder) {
  expect_bad_input([] { model_named("../models/llama2-7b"); }, {"model: unknown"});
}

}  // namespace
}  // namespace vramfit
