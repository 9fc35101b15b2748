#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "estimator/card_names.h"
#include "tests/estimator/ask/advising.h"

namespace vramfit::fit {
namespace {

TEST(AdviseGpus, CardsAreTheSmallestThatHoldItAsItIs) {
  const Answer answer = ask(inference("llama2-13b", "rtx4090", {}));
  ASSERT_FALSE(answer.advised->cards.empty());
  const std::uint64_t smallest = card_named(answer.advised->cards.front()).vram;
  for (const Card& card : cards()) {
    Request request = answer.request;
    request.budget = budget_of(card);
    if (card.vram >= smallest) continue;
    EXPECT_NE(estimate(request).verdict, Verdict::Fits) << card.name;
  }
}

/// By the strategy and the GPUs that its flags name.
std::map<std::string, std::string> gpus_by_strategy(const Advised& advised) {
  std::map<std::string, std::string> found;
  for (const Advice& advice : advised.on_several_gpus) {
    const Flags& flags = advice.choices.front().flags;
    found[flags.at("strategy")] = flags.at("gpus");
  }
  return found;
}

TEST(AdviseGpus, WhatDoesNotFitIsSharedByTheFewestGpus) {
  const FitOptions thirteen = training("llama2-13b", "a100-40gb", {{"precision", "bf16"}});
  const Answer answer = ask(thirteen);
  const auto found = gpus_by_strategy(*answer.advised);
  ASSERT_TRUE(found.contains("fsdp"));
  EXPECT_FALSE(found.contains("zero1")) << "each GPU has all parameters and gradients";
  for (const auto& [gpus, verdict] : {std::pair{std::stoll(found.at("fsdp")), Verdict::Fits},
                                      std::pair{std::stoll(found.at("fsdp")) / 2, Verdict::Oom}}) {
    FitOptions spread = thirteen;
    spread.advise = false;
    spread.flags["gpus"] = std::to_string(gpus);
    spread.flags["strategy"] = "fsdp";
    const Verdict then = ask(spread).estimate.verdict;
    EXPECT_EQ(then == Verdict::Fits, verdict == Verdict::Fits) << gpus;
  }
}

TEST(AdviseGpus, ABatchThatDoesNotFitIsSharedByDataParallelism) {
  for (const char* runtime : {"pytorch", "vramfit"}) {
    FitOptions options =
        training("llama2-7b", "h100-80gb",
                 {{"precision", "bf16"},
                  {"batch", "16"},
                  {"optimizer", std::string(runtime) == "vramfit" ? "adamw-same" : "adamw-fused"}});
    options.runtime = runtime;
    const Answer answer = ask(options);
    ASSERT_NE(answer.estimate.verdict, Verdict::Fits) << runtime;
    for (const Advice& advice : answer.advised->on_several_gpus) {
      const Flags& flags = advice.choices.front().flags;
      if (flags.at("strategy") != "ddp") continue;
      EXPECT_EQ(std::stoll(flags.at("gpus")) * std::stoll(flags.at("batch")), 16) << runtime;
    }
    EXPECT_TRUE(gpus_by_strategy(*answer.advised).contains("ddp")) << runtime;
  }
}

TEST(AdviseGpus, CopiesOnSeveralGpusAreSpreadNoFurther) {
  const FitOptions options =
      training("llama2-7b", "rtx4090", {{"precision", "bf16"}, {"gpus", "2"}, {"strategy", "ddp"}});
  EXPECT_TRUE(ask(options).advised->on_several_gpus.empty());
}

TEST(AdviseGpus, WhatIsSharedIsSharedByMore) {
  FitOptions options = training("llama2-13b", "a100-40gb",
                                {{"precision", "bf16"}, {"gpus", "2"}, {"strategy", "fsdp"}});
  const auto found = gpus_by_strategy(*ask(options).advised);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_GT(std::stoll(found.at("fsdp")), 2);
  options.advise = false;
  options.flags["gpus"] = found.at("fsdp");
  EXPECT_TRUE(ask(options).estimate.fits);
}

}  // namespace
}  // namespace vramfit::fit
