#include "estimator/ask/advise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "estimator/fit/advice_text.h"
#include "estimator/fit/picture.h"
#include "estimator/fit/terminal.h"
#include "estimator/fit/text.h"
#include "tests/estimator/ask/advising.h"

namespace vramfit::fit {
namespace {

using Texts = std::vector<std::string>;

std::vector<FitOptions> oom_questions() {
  FitOptions vramfit = training("llama2-7b", "a100-40gb", {{"batch", "4"}, {"seq", "1024"}});
  vramfit.runtime = "vramfit";
  FitOptions generation =
      inference("llama3-8b", "rtx4090", {{"batch", "32"}, {"seq", "4096"}, {"generate", "40"}});
  generation.runtime = "vramfit";
  return {
      training("llama2-7b", "rtx4090", {{"precision", "bf16"}, {"batch", "4"}, {"seq", "512"}}),
      training("llama2-7b", "h100-80gb", {{"precision", "bf16"}, {"batch", "8"}}),
      training("gpt2-1.5b", "v100-32gb", {{"precision", "fp16"}, {"batch", "8"}}),
      inference("llama2-13b", "rtx4090", {{"generate", "40"}}),
      inference("llama3-8b", "rtx3060", {{"batch", "4"}, {"seq", "8192"}}),
      vramfit,
      generation,
  };
}

struct Asked {
  FitOptions options;
  Question question;
  Answer answer;
  std::string where;
};

/// Several that do not fit, with their answers.
const std::vector<Asked>& asked() {
  static const std::vector<Asked> list = [] {
    std::vector<Asked> all;
    for (const FitOptions& options : oom_questions()) {
      Question question = resolve_question(options, {});
      Answer first = answer(question).front();
      all.push_back(
          {options, std::move(question), std::move(first), *options.model + " on " + *options.gpu});
    }
    return all;
  }();
  return list;
}

TEST(Advise, AllThatIsAdvisedFits) {
  for (const auto& [options, question, answer, where] : asked()) {
    SCOPED_TRACE(where);
    ASSERT_EQ(answer.estimate.verdict, Verdict::Oom);
    ASSERT_FALSE(answer.advised->list.empty());
    for (const Advice& advice : answer.advised->list) {
      EXPECT_TRUE(advice.estimate.fits);
      EXPECT_NE(advice.estimate.verdict, Verdict::Oom);
      EXPECT_EQ(estimate(advice.request).total, advice.estimate.total);
      EXPECT_EQ(advice.changes().size(), advice.slowdowns.size());
    }
  }
}

TEST(Advise, TheCheapestIsFirstAndWhatNobodyMeasuredLast) {
  for (const auto& [options, question, answer, where] : asked()) {
    SCOPED_TRACE(where);
    double last = 0;
    for (const Advice& advice : answer.advised->list) {
      const double time = advice.slowdown().value_or(1e6);
      EXPECT_GE(time, last);
      last = time;
    }
  }
}

TEST(Advise, NoneHasAllTheChangesOfAnotherAndMoreUnlessLessIsCut) {
  for (const auto& [options, question, answer, where] : asked()) {
    SCOPED_TRACE(where);
    std::vector<std::tuple<Texts, Verdict, double>> kinds;
    for (const Advice& advice : answer.advised->list) {
      Texts kind;
      for (const SettingChange& change : advice.changes()) kind.push_back(change.kind + change.to);
      std::sort(kind.begin(), kind.end());
      kinds.emplace_back(kind, advice.estimate.verdict, advice.keeps());
    }
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      for (std::size_t j = 0; j < kinds.size(); ++j) {
        const auto& [fewer, better, keeps] = kinds[i];
        const auto& [more, worse, keeps_of_more] = kinds[j];
        if (i == j || better > worse || keeps < keeps_of_more) continue;
        EXPECT_FALSE(std::includes(more.begin(), more.end(), fewer.begin(), fewer.end()))
            << i << " is in " << j;
      }
    }
  }
}

/// The verdict with these choices.
Verdict verdict_with(const Question& question, const std::vector<Choice>& choices) {
  Request request = question.requests.front();
  Flags flags = question.flags;
  flags["batch"] = std::to_string(request.workload->size(kBatchAxis));
  flags["seq"] = std::to_string(request.workload->size(kSeqAxis));
  for (const Choice& choice : choices) {
    for (const std::string& name : choice.without) flags.erase(name);
    for (const auto& [name, value] : choice.flags) flags[name] = value;
  }
  request.workload =
      request.workload->runtime().workload(flags, request.workload->training(), request.model);
  return estimate(request).verdict;
}

/// The next larger size, and the optimizer that keeps more, do not surely fit.
TEST(Advise, EachChoiceIsTheMildestThatSurelyFits) {
  std::size_t sizes = 0;
  std::size_t others = 0;
  for (const auto& [options, question, answer, where] : asked()) {
    const Request& request = question.requests.front();
    const std::vector<Adjustment> adjustments = request.workload->adjustments(request.model);
    for (const Advice& advice : answer.advised->list) {
      if (advice.estimate.verdict != Verdict::Fits) continue;
      EXPECT_EQ(verdict_with(question, advice.choices), Verdict::Fits);
      for (std::size_t i = 0; i < advice.choices.size(); ++i) {
        for (const Adjustment& adjustment : adjustments) {
          const auto choice = std::find_if(
              adjustment.choices.begin(), adjustment.choices.end(),
              [&](const Choice& same) { return same.label == advice.choices[i].label; });
          if (choice == adjustment.choices.begin() || choice == adjustment.choices.end()) continue;
          std::vector<Choice> milder = advice.choices;
          milder[i] = *std::prev(choice);
          EXPECT_NE(verdict_with(question, milder), Verdict::Fits)
              << where << ", " << i << " of " << testing::PrintToString(labels(advice));
          ++(adjustment.of_sizes ? sizes : others);
        }
      }
    }
  }
  EXPECT_GE(sizes, 5U);
  EXPECT_GE(others, 1U);
}

TEST(Advise, WhatIsToldMeanwhileStaysAndIsAllInTheEnd) {
  const Question question = resolve_question(
      training("llama2-7b", "rtx4090", {{"precision", "bf16"}, {"batch", "4"}, {"seq", "512"}}),
      {});
  std::vector<Texts> told;
  const auto flags_of = [](const Advised& advised) {
    Texts list;
    for (const Advice& advice : advised.list) list.push_back(flags_text(advice));
    std::sort(list.begin(), list.end());
    return list;
  };
  const Answer whole = answer(question, [&](const std::vector<Answer>& answers) {
                         told.push_back(flags_of(*answers.front().advised));
                         EXPECT_EQ(answers.front().advised->cards.size(), 3U);
                       }).front();
  told.push_back(flags_of(*whole.advised));
  ASSERT_GT(told.size(), 2U);
  EXPECT_LT(told.front().size(), told.back().size());
  for (std::size_t i = 1; i < told.size(); ++i) {
    EXPECT_TRUE(
        std::includes(told[i].begin(), told[i].end(), told[i - 1].begin(), told[i - 1].end()));
  }
}

TEST(Advise, OfWhatFitsThereIsNone) {
  const Answer answer = ask(inference("gpt2-124m", "rtx4090", {}));
  ASSERT_TRUE(answer.advised);
  EXPECT_TRUE(answer.advised->list.empty());
  EXPECT_TRUE(answer.advised->cards.empty());
  const Question question = resolve_question(inference("gpt2-124m", "rtx4090", {}), {});
  EXPECT_NE(picture(question, answer, {}).find("It fits as it is: nothing has to be changed."),
            std::string::npos);
}

TEST(Advise, WhatIsTightIsMadeToFitSurely) {
  const Answer answer = ask(inference("llama3-8b", "rtx4090", {{"batch", "3"}, {"seq", "8192"}}));
  ASSERT_EQ(answer.estimate.verdict, Verdict::Tight);
  ASSERT_GE(answer.advised->list.size(), 3U);
  for (const Advice& advice : answer.advised->list) {
    EXPECT_EQ(advice.estimate.verdict, Verdict::Fits);
  }
}

TEST(Advise, StrictlyNothingTightIsAdvised) {
  FitOptions options =
      training("llama2-7b", "rtx4090", {{"precision", "bf16"}, {"batch", "4"}, {"seq", "512"}});
  const auto is_tight = [](const Advice& advice) {
    return advice.estimate.verdict == Verdict::Tight;
  };
  const Answer answer = ask(options);
  EXPECT_TRUE(std::any_of(answer.advised->list.begin(), answer.advised->list.end(), is_tight));
  options.strict = true;
  const Answer strictly = ask(options);
  ASSERT_FALSE(strictly.advised->list.empty());
  EXPECT_TRUE(std::none_of(strictly.advised->list.begin(), strictly.advised->list.end(), is_tight));
}

TEST(Advise, SlowdownsOfSeveralStepsAreMultiplied) {
  const Answer answer = ask(
      training("llama2-7b", "rtx4090", {{"precision", "bf16"}, {"batch", "4"}, {"seq", "512"}}));
  const Advice& first = answer.advised->list.front();
  EXPECT_EQ(labels(first), (Texts{"activation checkpointing", "LoRA of rank 16"}));
  ASSERT_EQ(first.slowdowns.size(), 2U);
  EXPECT_DOUBLE_EQ(*first.slowdown(), *first.slowdowns[0] * *first.slowdowns[1]);
  EXPECT_NEAR(*first.slowdowns[0], 13524.6 / 9476.8, 1e-6) << "as it was measured beside LoRA";
}

/// fp32 weights under autocast were not timed with adapters.
TEST(Advise, WhatWasMeasuredInOneTypeIsNotSaidOfAnother) {
  const Answer answer = ask(training(
      "llama2-7b", "h100-80gb", {{"precision", "fp32"}, {"autocast", "bf16"}, {"batch", "4"}}));
  std::size_t unmeasured = 0;
  for (const Advice& advice : answer.advised->list) {
    const bool in_16_bits = advice.request.workload->asked().at("precision") != "fp32";
    if (in_16_bits) continue;
    EXPECT_FALSE(advice.slowdown());
    ++unmeasured;
  }
  EXPECT_GT(unmeasured, 0U);
}

/// 4-bit weights decode faster and prefill slower: a time of the one is not said of the other.
TEST(Advise, TimesOfDecodingAreSaidOfWhatDecodes) {
  for (const char* runtime : {"pytorch", "vramfit"}) {
    for (const char* generate : {"1", "2"}) {
      SCOPED_TRACE(std::string(runtime) + ", generate " + generate);
      FitOptions options =
          inference("llama3-8b", "rtx3060-12gb", {{"batch", "2"}, {"generate", generate}});
      options.runtime = runtime;
      const Answer answer = ask(options);
      const bool decodes = std::string(generate) == "2";
      EXPECT_EQ(answer.advised->timed, decodes ? "decoding" : "prefill");
      const auto& list = answer.advised->list;
      EXPECT_EQ(std::any_of(list.begin(), list.end(),
                            [](const Advice& advice) { return advice.slowdown().has_value(); }),
                decodes);
      EXPECT_NE(advice_text(answer, false).find("of a token in " + answer.advised->timed),
                std::string::npos);
    }
  }
  FitOptions unsaid = inference("llama3-8b", "rtx3060-12gb", {{"batch", "2"}});
  EXPECT_EQ(ask(unsaid).advised->timed, "prefill");
}

TEST(Advise, OtherOptimizersOfTheStepAreTimed) {
  FitOptions options = training("llama2-7b", "v100-32gb", {{"precision", "fp16"}, {"seq", "512"}});
  options.runtime = "vramfit";
  const Answer answer = ask(options);
  const auto& list = answer.advised->list;
  const auto adafactor = std::find_if(list.begin(), list.end(), [](const Advice& advice) {
    return labels(advice) == Texts{"adafactor"};
  });
  ASSERT_NE(adafactor, list.end());
  EXPECT_NEAR(adafactor->slowdown().value_or(0), 12360.9 / 12861.9, 1e-6);
}

TEST(Advise, WhereNothingHelpsItSaysHowFarThatGoes) {
  const FitOptions options = training("llama3-70b", "rtx4090", {});
  const Answer answer = ask(options);
  EXPECT_TRUE(answer.advised->list.empty());
  ASSERT_TRUE(answer.advised->least);
  EXPECT_LT(answer.advised->least->estimate.total, answer.estimate.total / 5);
  const Question question = resolve_question(options, {});
  EXPECT_NE(picture(question, answer, {}).find("Nothing that could be changed makes it fit: with"),
            std::string::npos);
}

// Sequences are cut as little as one more change lets them be, too.
TEST(Advise, OneMoreChangeIsAdvisedWhereLessIsCutThen) {
  const Advised advised = *ask(training("llama3.2-1b", "rtx3060",
                                        {{"precision", "bf16"}, {"seq", "16384"}, {"lora", "16"}}))
                               .advised;
  std::map<std::size_t, double> most;  // kept of the sequence, by how many changes there are
  for (const Advice& advice : advised.list) {
    double& kept = most[advice.choices.size()];
    kept = std::max(kept, advice.keeps());
  }
  ASSERT_GE(most.size(), 2U);
  EXPECT_LT(most.begin()->second, most.rbegin()->second);
}

TEST(Advise, HeadroomIsLeftFree) {
  FitOptions options = inference("llama2-7b", "rtx4090", {});
  options.headroom = "12GB";
  const Answer answer = ask(options);
  ASSERT_FALSE(answer.advised->list.empty());
  for (const Advice& advice : answer.advised->list) {
    EXPECT_LE(advice.estimate.total + 12'000'000'000, answer.request.budget.vram);
  }
}

TEST(Advise, ThePictureKeepsItsColumnsAndSaysWhatItLeavesOut) {
  for (const auto& [options, question, answer, where] : asked()) {
    const std::string text = picture(question, answer, {});
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), columns()) << line;
      EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
    }
    EXPECT_EQ(text.find("On several such GPUs") != std::string::npos,
              !answer.advised->on_several_gpus.empty());
    const bool more = answer.advised->list.size() > 8;
    EXPECT_EQ(text.find(" more: --json\n") != std::string::npos, more);
  }
}

}  // namespace
}  // namespace vramfit::fit
