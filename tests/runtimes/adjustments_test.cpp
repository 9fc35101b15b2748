#include "runtimes/adjustments.h"

#include <gtest/gtest.h>

#include "estimator/card_names.h"
#include "estimator/estimate.h"
#include "estimator/models.h"
#include "estimator/runtimes.h"

namespace vramfit {
namespace {

std::vector<std::string> values(const Adjustment& adjustment, const char* flag) {
  std::vector<std::string> list;
  for (const Choice& choice : adjustment.choices) list.push_back(choice.flags.at(flag));
  return list;
}

using Texts = std::vector<std::string>;

TEST(Adjustments, MicroBatchesDivideTheBatch) {
  const Adjustment adjustment = micro_batch_adjustment(12, 1024, 3);
  EXPECT_EQ(values(adjustment, "batch"), (Texts{"6", "4", "3", "2", "1"}));
  EXPECT_EQ(values(adjustment, "accumulate"), (Texts{"6", "9", "12", "18", "36"}));
  Texts timed;
  for (const Choice& choice : adjustment.choices) timed.push_back(choice.changes.front().to);
  const std::string enough = "2048 tokens or more";
  EXPECT_EQ(timed, (Texts{enough, enough, enough, enough, "fewer tokens"}));
  EXPECT_EQ(values(micro_batch_adjustment(7, 1, 1), "batch"), Texts{"1"});
  EXPECT_TRUE(micro_batch_adjustment(1, 2048, 4).choices.empty());
}

TEST(Adjustments, BatchesGoDownToOne) {
  EXPECT_EQ(values(batch_adjustment(4), "batch"), (Texts{"3", "2", "1"}));
  EXPECT_TRUE(batch_adjustment(1).choices.empty());
  for (const std::int64_t batch : {100, 1000, 1'000'000}) {
    const Texts sizes = values(batch_adjustment(batch), "batch");
    EXPECT_LE(sizes.size(), 130U);
    EXPECT_EQ(sizes.back(), "1");
    EXPECT_EQ(std::count(sizes.begin(), sizes.end(), "1"), 1);
  }
}

TEST(Adjustments, SequencesGoDownToAnEighth) {
  EXPECT_EQ(values(sequence_adjustment(128), "seq"),
            (Texts{"112", "96", "80", "64", "48", "32", "16"}));
  for (const std::int64_t seq : {17, 500, 2048, 131072, 1'000'000}) {
    const Texts sizes = values(sequence_adjustment(seq), "seq");
    ASSERT_FALSE(sizes.empty()) << seq;
    EXPECT_LT(std::stoll(sizes.front()), seq);
    EXPECT_GE(std::stoll(sizes.back()) * 8, seq);
    EXPECT_LE(sizes.size(), 64U);
    for (const std::string& size : sizes) EXPECT_EQ(std::stoll(size) % 16, 0);
  }
  EXPECT_TRUE(sequence_adjustment(16).choices.empty());
}

struct Asked {
  const char* runtime;
  bool training;
  Flags flags;
};

const std::vector<Asked>& asked() {
  static const std::vector<Asked> list = {
      {"pytorch", true, {{"optimizer", "adamw"}, {"precision", "fp32"}}},
      {"pytorch", true, {{"precision", "fp32"}, {"autocast", "bf16"}}},
      {"pytorch", true, {{"attention", "eager"}, {"precision", "bf16"}}},
      {"pytorch", true, {{"lora", "8"}, {"quant", "int8"}, {"precision", "bf16"}}},
      {"pytorch", true, {{"lora", "8"}, {"quant", "nf4"}, {"precision", "fp16"}}},
      {"pytorch", false, {{"precision", "fp32"}, {"attention", "eager"}}},
      {"pytorch", false, {{"precision", "bf16"}, {"quant", "int8"}}},
      {"vramfit",
       true,
       {{"optimizer", "adamw-master"}, {"attention", "cublas"}, {"precision", "bf16"}}},
      {"vramfit", true, {{"precision", "fp32"}, {"checkpoint", "full"}, {"checkpoint-every", "3"}}},
      {"vramfit", true, {{"precision", "bf16"}, {"optimizer", "adamw-8bit"}}},
      {"vramfit", true, {{"precision", "bf16"}, {"optimizer", "sgd-momentum"}}},
      {"vramfit", true, {{"precision", "bf16"}, {"lora", "8"}}},
      {"vramfit", true, {{"precision", "int8"}, {"lora", "8"}}},
      {"vramfit", false, {{"precision", "bf16"}}},
      {"vramfit", false, {{"precision", "int8"}, {"cache", "fp8"}}},
  };
  return list;
}

Estimate estimate_of(const Asked& each, const Choice& choice, const ModelConfig& model) {
  Flags flags = each.flags;
  for (const std::string& name : choice.without) flags.erase(name);
  for (const auto& [name, value] : choice.flags) flags[name] = value;
  EXPECT_NE(flags, each.flags);
  const Runtime& runtime = runtime_named(each.runtime);
  return estimate(
      {model, runtime.workload(flags, each.training, model), budget_of(card_named("h200"))});
}

TEST(Adjustments, ChoicesTakeNoMoreThanNowAndNoLessThanTheLast) {
  const ModelConfig model = model_named("tinyllama-1.1b");
  std::size_t tried = 0;
  for (Asked each : asked()) {
    each.flags["batch"] = "4";
    each.flags["seq"] = "1024";
    const auto workload = runtime_named(each.runtime).workload(each.flags, each.training, model);
    const std::uint64_t now = estimate({model, workload, budget_of(card_named("h200"))}).total;
    for (const Adjustment& adjustment : workload->adjustments(model)) {
      ASSERT_FALSE(adjustment.choices.empty());
      ASSERT_FALSE(adjustment.parts.empty());
      // With micro-batches gradients stay, which may take more than what they save.
      if (adjustment.of_sizes) continue;
      const Estimate least = estimate_of(each, adjustment.choices.back(), model);
      for (const Choice& choice : adjustment.choices) {
        SCOPED_TRACE(std::string(each.runtime) + ": " + choice.label);
        const Estimate estimate = estimate_of(each, choice, model);
        EXPECT_LE(estimate.total, now);
        // An allocator's gaps may be another matter.
        EXPECT_GE(estimate.levels.allocated, least.levels.allocated);
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 40U);
}

TEST(Adjustments, OptimizersOfTheStepAreThoseThatKeepLess) {
  const std::vector<std::pair<const char*, Texts>> cases = {
      {"adamw-master",
       {"adamw", "adamw-same", "adamw-8bit", "adamw-cpu", "lion", "adafactor", "sgd"}},
      {"adamw-same", {"adamw-8bit", "adamw-cpu", "lion", "adafactor", "sgd"}},
      {"adamw-8bit", {"adamw-cpu", "adafactor", "sgd"}},
      {"adamw-cpu", {"sgd"}},
      {"lion", {"adafactor", "sgd"}},
      {"sgd-momentum", {"adafactor", "sgd"}},
      {"adafactor", {"sgd"}},
      {"sgd", {}},
  };
  const ModelConfig model = model_named("tinyllama-1.1b");
  for (const auto& [now, expected] : cases) {
    const Flags flags = {{"precision", "bf16"}, {"optimizer", now}};
    Texts offered;
    for (const Adjustment& adjustment :
         runtime_named("vramfit").workload(flags, true, model)->adjustments(model)) {
      for (const Choice& choice : adjustment.choices) {
        if (choice.flags.count("optimizer") > 0) offered.push_back(choice.flags.at("optimizer"));
      }
    }
    EXPECT_EQ(offered, expected) << now;
  }
}

TEST(Adjustments, ARunThatHasItAllOffersSizesAlone) {
  const ModelConfig model = model_named("llama2-7b");
  const Flags flags = {{"precision", "bf16"},  {"optimizer", "paged-adamw-8bit"},
                       {"checkpoint", "full"}, {"lora", "16"},
                       {"quant", "nf4"},       {"double-quant", ""},
                       {"batch", "1"}};
  const auto adjustments =
      runtime_named("pytorch").workload(flags, true, model)->adjustments(model);
  ASSERT_EQ(adjustments.size(), 1U);
  EXPECT_EQ(adjustments.front().parts, Texts{"sequence"});
}

TEST(Adjustments, PeftSaysWhatLoraAdapts) {
  const auto script_of = [](const char* name) {
    const ModelConfig model = model_named(name);
    for (const Adjustment& adjustment :
         runtime_named("pytorch").workload({}, true, model)->adjustments(model)) {
      if (adjustment.parts == Texts{"LoRA"})
        return adjustment.choices.front().script.back().argument;
    }
    return std::string();
  };
  EXPECT_EQ(script_of("llama2-7b"), R"(target_modules=["q_proj", "v_proj"])");
  EXPECT_EQ(script_of("gpt2-124m"), R"(target_modules=["c_attn"])");
  EXPECT_EQ(script_of("olmo2-1b"), R"(target_modules="all-linear")");
}

TEST(Adjustments, FormulasOfferNone) {
  const ModelConfig model = model_named("llama2-7b");
  EXPECT_TRUE(runtime_named("article").workload({}, true, model)->adjustments(model).empty());
}

}  // namespace
}  // namespace vramfit
