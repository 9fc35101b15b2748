// The runtimes' rows against what they do.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "estimator/models.h"
#include "estimator/runtimes.h"
#include "model/optimizer/optimizer_kind.h"
#include "runtimes/llamacpp/weights/recipe.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

/// Settings beside which others make sense.
Flags beside(const std::string& name) {
  const Flags sharded = {{"gpus", "2"}, {"strategy", "fsdp"}};
  if (name == "mixed-precision") return sharded;
  if (name == "schedule") {
    return {{"gpus", "2"}, {"strategy", "pipeline"}, {"accumulate", "2"}};
  }
  if (name == "quant-compute" || name == "quant-storage") return {{"quant", "nf4"}};
  if (name == "split-mode" || name == "strategy") return {{"gpus", "2"}};
  if (name.ends_with("-draft") || name == "spec-type") return {{"model-draft", "tinyllama-1.1b"}};
  if (name == "head") return {{"precision", "nf4"}};
  if (name != "reduce-dtype") return {};
  Flags mixed = sharded;
  mixed["mixed-precision"] = "bf16";
  return mixed;
}

/// With another that drafts for it.
ModelConfig drafted_model() {
  ModelConfig model = model_named("llama2-7b");
  auto source = std::make_shared<ModelSource>(*model.source);
  source->draft = model_named("tinyllama-1.1b").source;
  model.source = std::move(source);
  return model;
}

TEST(Settings, EveryChoiceIsReadAndToldOf) {
  const ModelConfig model = drafted_model();
  for (const Runtime* runtime : runtimes()) {
    for (const Setting& setting : runtime->settings()) {
      if (setting.choices.empty()) continue;
      SCOPED_TRACE(setting.name);
      Flags flags = beside(setting.name);
      const bool training = setting.with == Setting::With::Training;
      std::set<std::string> told;
      for (const std::string& choice : setting.choices) {
        flags[setting.name] = choice;
        told.insert(runtime->workload(flags, training, model)->asked().dump());
      }
      EXPECT_EQ(told.size(), setting.choices.size());
      flags[setting.name] = "some";
      const std::string says = ": unknown 'some'; " + one_of(setting.choices);
      expect_bad_input([&] { runtime->workload(flags, training, model); },
                       {setting.name, says.c_str()});
    }
  }
}

TEST(Settings, EveryOfferIsReadAndToldOf) {
  const ModelConfig model = model_named("llama2-7b");
  std::size_t count = 0;
  for (const Runtime* runtime : runtimes()) {
    for (const Setting& setting : runtime->settings()) {
      SCOPED_TRACE(std::string(runtime->name()) + ", " + setting.name);
      Flags flags = beside(setting.name);
      const bool training =
          setting.with == Setting::With::Training || setting.name == std::string("strategy");
      std::set<std::string> told;
      for (const Offer& offer : setting.offers) {
        EXPECT_EQ(offer.value.empty(), &offer == &setting.offers.front()) << offer.title;
        if (offer.value.empty()) continue;
        flags[setting.name] = offer.value;
        told.insert(runtime->workload(flags, training, model)->asked().dump());
      }
      if (setting.offers.empty()) continue;
      EXPECT_EQ(told.size() + 1, setting.offers.size());
      count += told.size();
    }
  }
  EXPECT_GT(count, 50U);
}

TEST(Settings, OffersAreOfAllThatATableHas) {
  const auto offered = [](const char* runtime, const char* name) {
    return find(runtime_named(runtime).settings(), name)->offers;
  };
  EXPECT_EQ(offered("vramfit", "optimizer").size(), optimizer_kinds().size());
  EXPECT_EQ(offered("vramfit", "optimizer").front().title, "AdamW, states in fp32");
  EXPECT_EQ(offered("pytorch", "optimizer").front().title, "AdamW, fused");
  EXPECT_EQ(offered("llama.cpp", "quant").size(), llamacpp::recipes().size() - 1);  // but Q1_0
}

TEST(Settings, WhatOneNeedsIsSaid) {
  const ModelConfig model = model_named("llama2-7b");
  for (const Runtime* runtime : runtimes()) {
    for (const Setting& setting : runtime->settings()) {
      if (setting.needs == nullptr) continue;
      const Flags alone = {{setting.name, setting.choices.empty() ? "2" : setting.choices.back()}};
      if (setting.needs->met(alone)) continue;  // by what is taken where nothing is said
      expect_bad_input([&] { runtime->workload(alone, true, model); },
                       {setting.name, ": only with ", setting.needs->what});
    }
  }
}

}  // namespace
}  // namespace vramfit
