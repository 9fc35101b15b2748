#include "estimator/models.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "estimator/data_path.h"
#include "model/transformer/parameters.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

TEST(Models, EachHasItsPublishedParameterCount) {
  const auto published = nlohmann::json::parse(read_text(data_file("models/parameters.json")));
  ASSERT_EQ(model_names().size(), 26U);
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
                   {"model: unknown 'llama4-7b'", "fit --list", "such as gemma-2b"});
  expect_bad_input([] { model_named(""); }, {"model: unknown ''"});
}

TEST(Models, ANameReachesNoOtherFolder) {
  expect_bad_input([] { model_named("../models/llama2-7b"); }, {"model: unknown"});
}

}  // namespace
}  // namespace vramfit
