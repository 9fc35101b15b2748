#include "estimator/slowdowns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/data.h"
#include "estimator/models.h"
#include "estimator/runtimes.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

using Json = nlohmann::json;

constexpr const char* kTwice = R"({"schema": 1, "gpu": "G", "comparisons": [
  {"runtime": "r", "mode": "training", "kind": "k", "beside": null, "run": "a", "file": "f",
   "figure": "t", "speeds": {"none": {"row": "x", "tokens_per_second": 100},
                             "half": {"row": "y", "tokens_per_second": 50},
                             "fast": {"row": "z", "tokens_per_second": 200}}},
  {"runtime": "r", "mode": "training", "kind": "k", "beside": null, "run": "b", "file": "f",
   "figure": "t", "speeds": {"none": {"row": "x", "tokens_per_second": 100},
                             "half": {"row": "y", "tokens_per_second": 25}}},
  {"runtime": "r", "mode": "decoding", "kind": "k", "beside": "lora", "run": "c", "file": "f",
   "figure": "t", "speeds": {"none": {"row": "x", "tokens_per_second": 100},
                             "half": {"row": "y", "tokens_per_second": 10}}}]})";

TEST(Slowdowns, AreMediansOfTimes) {
  const Slowdowns all = parse_slowdowns(kTwice, "text");
  EXPECT_EQ(all.gpu, "G");
  EXPECT_EQ(all.of("r", "training", {"k", "none", "half"}, ""), 3.0) << "of 2 and 4";
  EXPECT_EQ(all.of("r", "training", {"k", "half", "none"}, ""), 0.375);
  EXPECT_EQ(all.of("r", "training", {"k", "none", "fast"}, ""), 0.5) << "one has both";
  EXPECT_EQ(all.of("r", "decoding", {"k", "none", "half"}, "lora"), 10.0);
}

TEST(Slowdowns, WhatNobodyMeasuredHasNone) {
  const Slowdowns all = parse_slowdowns(kTwice, "text");
  EXPECT_FALSE(all.of("r", "training", {"k", "none", "other"}, ""));
  EXPECT_FALSE(all.of("r", "training", {"other", "none", "half"}, ""));
  EXPECT_FALSE(all.of("s", "training", {"k", "none", "half"}, ""));
  EXPECT_FALSE(all.of("r", "training", {"k", "none", "half"}, "lora"));
  EXPECT_FALSE(all.of("r", "decoding", {"k", "none", "half"}, ""));
}

TEST(Slowdowns, AreReadStrictly) {
  const Json absent(Json::value_t::discarded);
  const std::vector<std::tuple<const char*, Json, const char*>> cases = {
      {"/schema", 2, "schema"},
      {"/gpu", absent, "gpu"},
      {"/comparisons", Json::array(), "comparisons"},
      {"/comparisons/0", 7, "comparison 1: not a JSON object"},
      {"/comparisons/0/runtime", absent, "runtime"},
      {"/comparisons/0/mode", "both", "mode"},
      {"/comparisons/0/beside", absent, "beside"},
      {"/comparisons/0/file", absent, "file"},
      {"/comparisons/0/slow", 1, "slow"},
      {"/comparisons/0/speeds", Json::object(), "speeds"},
      {"/comparisons/0/speeds/half", 50, "half"},
      {"/comparisons/0/speeds/half/row", absent, "row"},
      {"/comparisons/0/speeds/half/tokens_per_second", 0, "tokens_per_second"},
  };
  for (const auto& [pointer, value, part] : cases) {
    SCOPED_TRACE(pointer);
    Json file = Json::parse(kTwice);
    const Json::json_pointer at(pointer);
    if (value.is_discarded()) {
      file[at.parent_pointer()].erase(at.back());
    } else {
      file[at] = value;
    }
    expect_bad_input([&] { parse_slowdowns(file.dump(), "text"); }, {"text", part});
  }
}

/// Every change that a runtime offers for some of these runs.
std::vector<SettingChange> changes_of(const std::string& runtime, bool training) {
  std::vector<Flags> runs = {
      {}, {{"precision", "fp32"}}, {{"precision", "bf16"}}, {{"batch", "4"}}};
  if (training && runtime == "pytorch") {
    runs.push_back({{"precision", "fp32"}, {"autocast", "bf16"}});
    runs.push_back({{"lora", "16"}});
    runs.push_back({{"lora", "16"}, {"quant", "int8"}});
  }
  if (training && runtime == "vramfit") {
    runs.push_back({{"optimizer", "adamw-master"}});
    runs.push_back({{"attention", "cublas"}});
  }
  const ModelConfig model = model_named("llama2-7b");
  std::vector<SettingChange> changes;
  for (Flags& flags : runs) {
    const auto workload = runtime_named(runtime).workload(flags, training, model);
    std::vector<Adjustment> adjustments = workload->adjustments(model);
    const std::vector<Adjustment> gpus = workload->gpu_adjustments();
    adjustments.insert(adjustments.end(), gpus.begin(), gpus.end());
    for (const Adjustment& adjustment : adjustments) {
      for (const Choice& choice : adjustment.choices) {
        changes.insert(changes.end(), choice.changes.begin(), choice.changes.end());
      }
    }
  }
  return changes;
}

/// A setting spelt otherwise than the runtime does would never be found.
TEST(Slowdowns, OfTheFileAreOfStepsThatAreOffered) {
  ASSERT_GE(slowdowns().comparisons.size(), 10U);
  for (const SpeedComparison& comparison : slowdowns().comparisons) {
    SCOPED_TRACE(comparison.runtime + ", " + comparison.kind + ", " + comparison.run);
    const std::vector<SettingChange> changes =
        changes_of(comparison.runtime, comparison.mode == "training");
    EXPECT_TRUE(std::any_of(changes.begin(), changes.end(), [&](const SettingChange& change) {
      return change.kind == comparison.kind && comparison.speeds.count(change.from) > 0 &&
             comparison.speeds.count(change.to) > 0;
    }));
  }
}

}  // namespace
}  // namespace vramfit
