// llama.cpp behind the door: its flags, models that no reader has, its searches and advice.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "estimator/ask/ask.h"
#include "estimator/models.h"
#include "estimator/runtimes.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

Json told(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--runtime", "llama.cpp"});
  return Json::parse(ask(parse_options(arguments), {}).json());
}

std::uint64_t part(const Json& answer, std::size_t device, const char* name) {
  return answer.at("devices").at(device).at("parts").at(name);
}

TEST(LlamaCpp, AnswersAboutModelsThatNoReaderHas) {
  for (const std::string& name : more_model_names()) {
    SCOPED_TRACE(name);
    const Json answer = told({"--model", name, "-c", "4096", "--gpu", "h200"});
    EXPECT_GT(answer.at("model").at("parameters"), 0);
    EXPECT_GT(part(answer, 0, "model"), 0U);
    EXPECT_GT(part(answer, 0, "context"), 0U);
  }
}

TEST(LlamaCpp, OthersRefuseWhatItAloneReads) {
  const FitOptions options = parse_options({"--model", "qwen3-30b-a3b", "--gpu", "h200"});
  EXPECT_THROW(ask(options, {}), UnknownModel);
  expect_bad_input(
      [] {
        ask(parse_options({"--gguf", "x.gguf", "--vram", "24GB"}), {});
      },
      {"gguf: 'x.gguf' is a path"});
  expect_bad_input([] { told({"--model", "gpt2-124m", "--gpu", "h200"}); }, {"gpt2-124m"});
  expect_bad_input([] { told({"--model", "llama3-8b", "--train", "--gpu", "h200"}); }, {"train"});
  expect_bad_input(
      [] {
        told({"--model", "llama3-8b", "--max-batch", "--gpu", "h200"});
      },
      {"max-batch: not under --runtime llama.cpp; --max-ctx"});
}

TEST(LlamaCpp, TakesItsOwnFlagsByOneDash) {
  const Json answer = told({"--model", "llama3-8b", "-c", "8192", "-ngl", "20", "-ctk", "q8_0",
                            "-np", "2", "-kvu", "-fa", "on", "-ub", "256", "--gpu", "rtx4090"});
  const Json& asked = answer.at("asked");
  EXPECT_EQ(asked.at("ctx"), 8192);
  EXPECT_EQ(asked.at("gpu_layers"), 20);
  EXPECT_EQ(asked.at("cache_type_k"), "q8_0");
  EXPECT_EQ(asked.at("parallel"), 2);
  EXPECT_EQ(asked.at("kv_unified"), true);
  EXPECT_EQ(asked.at("flash_attn"), "on");
  EXPECT_EQ(asked.at("ubatch_size"), 256);
  EXPECT_EQ(answer.at("on_host").at("layers"), 13);
  const Json ollama = told({"--model", "llama3-8b", "--num_ctx", "8192", "--num_gpu=20",
                            "--num_parallel=2", "--gpu", "rtx4090"});
  EXPECT_EQ(ollama.at("asked").at("gpu_layers"), 20);
}

TEST(LlamaCpp, TheLongestContextIsTheLastThatFits) {
  const auto at = [](const std::string& ctx) {
    return told({"--model", "qwen3-30b-a3b", "-c", ctx, "--vram", "21GiB"}).at("fits").get<bool>();
  };
  const Json found = told({"--model", "qwen3-30b-a3b", "--max-ctx", "--vram", "21GiB"});
  const std::int64_t largest = found.at("max_ctx");
  ASSERT_GT(largest, 0);
  ASSERT_LT(largest, 40960);
  EXPECT_TRUE(at(std::to_string(largest)));
  EXPECT_FALSE(at(std::to_string(largest + 256)));
  EXPECT_LE(found.at("largest_surely"), largest);
  EXPECT_GE(found.at("largest_possibly"), largest);
}

TEST(LlamaCpp, SaysWhatItWouldSetByItselfAndThatFits) {
  const Json answer = told({"--model", "qwen3-30b-a3b", "--quant", "Q8_0", "--gpu", "rtx4090"});
  EXPECT_EQ(answer.at("verdict"), "OOM");
  const Json& choice = answer.at("own_choice");
  const Json chosen =
      told({"--model", "qwen3-30b-a3b", "--quant", "Q8_0", "--gpu", "rtx4090", "-c",
            choice.at("ctx"), "-ngl", choice.at("gpu_layers"),
            "--override-tensor=" + choice.at("override_tensor").get<std::string>()});
  EXPECT_TRUE(chosen.at("fits"));
  const Json itself =
      told({"--model", "qwen3-30b-a3b", "--quant", "Q8_0", "--gpu", "rtx4090", "--fit", "on"});
  EXPECT_TRUE(itself.at("fits"));
  EXPECT_EQ(itself.at("devices"), chosen.at("devices"));
}

TEST(LlamaCpp, AdvisesTheBestQuantisationThatFits) {
  const Json answer = told(
      {"--model", "llama2-13b", "--quant", "Q8_0", "-c", "4096", "--vram", "16GiB", "--advise"});
  bool smaller = false;
  for (const Json& advice : answer.at("advice")) smaller |= advice.at("flags") == "--quant Q6_K";
  EXPECT_TRUE(smaller) << answer.at("advice").dump(1);
}

}  // namespace
}  // namespace vramfit
