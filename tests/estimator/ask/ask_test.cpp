#include "estimator/ask/ask.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "estimator/data.h"
#include "estimator/runtimes.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

using Json = nlohmann::json;

const Json kSmall = {{"model", "gpt2-124m"}, {"batch", 2}, {"seq", 64}, {"gpu", "rtx4090"}};

/// kSmall with more.
Json with(const Json& more) {
  Json flags = kSmall;
  flags.update(more);
  return flags;
}

TEST(Ask, FlagsByNameAreThoseOfTheCommandLine) {
  const Json flags = {{"model", "llama2-7b"},
                      {"train", true},
                      {"per_device_train_batch_size", 4},
                      {"seq", 512},
                      {"lora-r", 16},
                      {"lora_target_modules", {"q_proj", "k_proj"}},
                      {"gradient_checkpointing", true},
                      {"autocast", nullptr},
                      {"gpu", "rtx4090"}};
  const FitOptions typed = parse_options({"--model=llama2-7b", "--train", "--batch=4", "--seq=512",
                                          "--lora=16", "--lora-targets=q_proj,k_proj",
                                          "--checkpoint=full", "--loss-only", "--gpu=rtx4090"});
  EXPECT_EQ(ask(flags).json(), ask(typed).json());
  EXPECT_TRUE(ask(flags).yes());
}

TEST(Ask, SwitchesAreOnOrOff) {
  for (const char* name : {"again", "double_quant", "bucket_view"}) {
    std::string flag = name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    EXPECT_TRUE(has(options_of(with({{name, true}})).flags, flag.c_str()));
    EXPECT_FALSE(has(options_of(with({{name, false}})).flags, flag.c_str()));
  }
  // Every flag without a value is one of those.
  for (const Runtime* runtime : runtimes()) {
    for (const Setting& setting : runtime->settings()) {
      if (setting.takes != Setting::Takes::Nothing) continue;
      EXPECT_FALSE(has(options_of(with({{setting.name, false}})).flags, setting.name));
    }
  }
  EXPECT_FALSE(options_of(with({{"train", false}})).train);
}

TEST(Ask, ACommandLineGoesBeforeFlagsOfWhateverName) {
  const Json flags = {{"model", "gpt2-124m"}, {"per_device_train_batch_size", 2}, {"gpu", "h200"}};
  const FitOptions options = options_of(flags, {"--batch", "3", "--seq=64"});
  EXPECT_EQ(options.flags.at("batch"), "3");
  EXPECT_EQ(options.flags.at("seq"), "64");
  EXPECT_EQ(options.gpu, "h200");
}

TEST(Ask, AConfigIsGivenAsItIs) {
  const Json config = Json::parse(data_text("models/gpt2-124m/config.json"));
  Json flags = with({{"config", config}, {"model", "mine"}});
  const Asked own = ask(flags);
  EXPECT_EQ(own.question.requests.front().model.name, "mine");
  EXPECT_EQ(own.answers.front().estimate.total, ask(kSmall).answers.front().estimate.total);
  flags["config"]["n_embd"] = -1;
  expect_bad_input([&] { ask(flags); }, {"mine", "n_embd"});
}

TEST(Ask, LooksAtNothingByItself) {
  const Asked everywhere = ask(Json{{"model", "gpt2-124m"}, {"seq", 64}});
  EXPECT_TRUE(everywhere.question.every_card);
  expect_bad_input([] { ask(Json{{"config", "/etc/passwd"}}); }, {"config", "no files are read"});
  expect_bad_input([] { ask(Json{{"model", "/etc"}}); }, {"model: unknown '/etc'"});
}

TEST(Ask, SurroundingsAreAskedWhereTheyAreNeeded) {
  int gpus = 0;
  Environment environment;
  environment.gpu = [&] { return ++gpus, std::optional(budget_of_size(1'000'000'000)); };
  ask(kSmall, environment);
  EXPECT_EQ(gpus, 0);
  Json flags = kSmall;
  flags.erase("gpu");
  EXPECT_EQ(ask(flags, environment).question.requests.front().budget.vram, 1'000'000'000U);
  EXPECT_EQ(gpus, 1);
}

TEST(Ask, BadInputNamesTheFlagAsItWasGiven) {
  const auto refused = [](const Json& flags, const char* what) {
    expect_bad_input([&] { ask(flags); }, {what});
  };
  refused({{"model", "gpt2-124m"}, {"per_device_train_batch_size", 0}, {"gpu", "h200"}},
          "per-device-train-batch-size: ");
  refused(with({{"lora-r", 0}, {"train", true}}), "lora-r");
  refused(with({{"optim", "nonsense"}, {"train", true}}), "optim");
  refused(with({{"no_such_flag", 1}}), "unknown flag '--no-such-flag'");
  refused(with({{"snapshot", "file"}}), "snapshot: is of the command line alone");
  refused(with({{"help", true}}), "help: is of the command line alone");
  refused(with({{"", 1}}), "'' is no flag's name");
  refused(with({{"batch=4 --seq", 1}}), "is no flag's name");
  refused(with({{"lora_targets", {{1, 2}}}}), "lora-targets: a list");
  refused(Json::array(), "not a JSON object");
  refused(with({{"seq", "\xff"}}), "seq");
}

TEST(Ask, SeveralThreadsMayAsk) {
  const std::string expected = ask(kSmall).json();
  std::vector<std::string> answers(4);
  std::vector<std::thread> threads;
  for (std::string& answer : answers) {
    threads.emplace_back([&answer] { answer = ask(kSmall).json(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& answer : answers) EXPECT_EQ(answer, expected);
}

}  // namespace
}  // namespace vramfit
