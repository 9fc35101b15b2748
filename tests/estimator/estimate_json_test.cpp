#include "estimator/estimate_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "estimator/card_names.h"
#include "estimator/models.h"
#include "tests/support/workloads.h"

namespace vramfit {
namespace {

using OrderedJson = nlohmann::ordered_json;

Request request_on(const char* card) {
  TrainingOptions options;
  options.precision = DType::Fp16;
  options.batch = 4;
  options.seq = 512;
  return {model_named("llama2-7b"), workload_of(options), budget_of(card_named(card))};
}

std::vector<std::string> keys(const OrderedJson& object) {
  std::vector<std::string> list;
  for (const auto& item : object.items()) list.push_back(item.key());
  return list;
}

/// Adds up what a card must have, three ways.
void expect_sums(const OrderedJson& verdict) {
  std::uint64_t sum = 0;
  for (const auto& item : verdict.at("components").items())
    sum += item.value().get<std::uint64_t>();
  const OrderedJson& levels = verdict.at("levels");
  EXPECT_EQ(sum, levels.at("allocated").get<std::uint64_t>());
  EXPECT_GE(levels.at("reserved"), levels.at("allocated"));
  EXPECT_GE(levels.at("device_used"), levels.at("reserved"));
  const auto overhead = verdict.at("overhead").get<std::uint64_t>();
  EXPECT_EQ(verdict.at("total").get<std::uint64_t>(),
            levels.at("reserved").get<std::uint64_t>() + overhead);
  EXPECT_EQ(verdict.at("fits").get<bool>(), levels.at("reserved") <= verdict.at("capacity"));
}

TEST(EstimateJson, HasEveryKeyAndSumsUp) {
  const Request request = request_on("h200");
  const OrderedJson json = estimate_json(request, estimate(request));
  EXPECT_EQ(keys(json),
            (std::vector<std::string>{"schema",   "runtime",  "release",         "fits",
                                      "asked",    "model",    "verdict",         "uncertainty",
                                      "gpu",      "vram",     "headroom",        "held_by_others",
                                      "capacity", "overhead", "overhead_source", "overhead_parts",
                                      "total",    "margin",   "levels",          "components",
                                      "peak",     "on_host",  "stages",          "notes"}));
  EXPECT_EQ(keys(json["components"]),
            (std::vector<std::string>{"parameters", "gradients", "optimizer_state", "activations",
                                      "kv_cache", "workspace", "inputs", "communication"}));
  EXPECT_EQ(json["schema"], kEstimateSchema);
  EXPECT_EQ(json["runtime"], "vramfit");
  EXPECT_TRUE(json["release"].is_null());
  EXPECT_EQ(json["fits"], true);
  EXPECT_EQ(json["asked"], OrderedJson::parse(R"({"model": "llama2-7b", "mode": "training",
    "precision": "fp16", "attention": "flash", "batch": 4, "seq": 512, "optimizer": "adamw",
    "accumulate": 1, "lora": null, "checkpoint": null, "checkpoint_every": 1,
    "gpus": 1, "strategy": null})"));
  EXPECT_EQ(json["model"]["parameters"], 6'738'415'616);
  EXPECT_EQ(json["gpu"]["name"], "h200");
  EXPECT_EQ(json["vram"], 150'754'820'096);
  expect_sums(json);
}

TEST(EstimateJson, StagesAreInOrderAndJoin) {
  const Request request = request_on("h200");
  const OrderedJson stages = estimate_json(request, estimate(request)).at("stages");
  const OrderedJson& loaded = stages.at(0);
  EXPECT_EQ(loaded.at("step"), 0);
  EXPECT_EQ(loaded.at("name"), "loaded");
  EXPECT_EQ(loaded.at("before"), 0);
  EXPECT_EQ(loaded.at("after"), loaded.at("peak"));
  EXPECT_GE(loaded.at("reserved"), loaded.at("peak"));
  EXPECT_EQ(loaded.at("peak_reserved"), loaded.at("reserved"));
  EXPECT_GT(loaded.at("device_used"), loaded.at("reserved"));
  std::vector<std::string> first_step;
  for (std::size_t i = 1; i < stages.size(); ++i) {
    EXPECT_EQ(stages[i].at("before"), stages[i - 1].at("after"));
    EXPECT_GE(stages[i].at("peak"), stages[i].at("after"));
    if (stages[i].at("step") == 1) first_step.push_back(stages[i].at("name"));
  }
  EXPECT_EQ(first_step,
            (std::vector<std::string>{"forward", "backward", "optimizer", "zero_grad"}));
}

TEST(EstimateJson, SaysWhereARunEndsThatDoesNotFit) {
  const Request request = request_on("rtx4090");
  const OrderedJson json = estimate_json(request, estimate(request));
  EXPECT_EQ(json["fits"], false);
  EXPECT_LT(json["margin"], 0);
  const OrderedJson& end = json.at("out_of_memory");
  EXPECT_EQ(end.at("step"), 1);
  EXPECT_GT(end.at("requested"), 0);
  EXPECT_TRUE(end.at("tensor").is_string());
  expect_sums(json);
}

TEST(EstimateJson, OfInferenceSaysHowManyTokens) {
  Request request = request_on("h200");
  GenerationOptions options;
  options.generate = 5;
  request.workload = workload_of(options);
  const OrderedJson asked = estimate_json(request, estimate(request)).at("asked");
  EXPECT_EQ(asked.at("mode"), "inference");
  EXPECT_EQ(asked.at("generate"), 5);
  EXPECT_FALSE(asked.contains("optimizer"));
}

TEST(EstimateJson, OfSeveralCardsFitsWhereAnyDoes) {
  const std::vector<Request> requests = {request_on("rtx4090"), request_on("h200")};
  const OrderedJson json = estimates_json(requests, {estimate(requests[0]), estimate(requests[1])});
  EXPECT_EQ(json["fits"], true);
  ASSERT_EQ(json["cards"].size(), 2U);
  EXPECT_EQ(json["cards"][0]["fits"], false);
  EXPECT_EQ(json["cards"][1]["fits"], true);
  for (const OrderedJson& card : json["cards"]) expect_sums(card);
}

TEST(EstimateJson, ACardOutsideTheCatalogueHasNoName) {
  Request request = request_on("h200");
  request.budget = budget_of_size(99'000'000'000);
  EXPECT_TRUE(estimate_json(request, estimate(request)).at("gpu").at("name").is_null());
}

}  // namespace
}  // namespace vramfit
