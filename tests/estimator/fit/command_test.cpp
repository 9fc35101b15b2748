#include "tests/estimator/fit/command.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/scratch_folder.h"

namespace vramfit::fit {
namespace {

using Json = nlohmann::json;

constexpr const char* kH200 = "FAKE_GPU=NVIDIA H200|150754820096|9|0";

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Fit, StatusSaysWhetherItFits) {
  const Outcome fits = run_fit({"--model", "llama2-7b", "--vram", "24GB"});
  EXPECT_EQ(fits.status, 0);
  EXPECT_TRUE(has(fits.out, "FITS"));
  EXPECT_EQ(fits.err, "");
  const Outcome oom =
      run_fit({"--model", "llama2-7b", "--train", "--optimizer", "adamw", "--precision", "fp16",
               "--batch", "4", "--seq", "512", "--vram", "24GB"});
  EXPECT_EQ(oom.status, 1);
  EXPECT_TRUE(has(oom.out, "OOM"));
  EXPECT_EQ(oom.err, "");
}

TEST(Fit, HelpVersionAndListAreNoQuestions) {
  for (const char* flag : {"--help", "-h"}) {
    const Outcome help = run_fit({flag});
    EXPECT_EQ(help.status, 0);
    EXPECT_TRUE(has(help.out, "--max-batch"));
    EXPECT_TRUE(has(help.out, "Exit status"));
  }
  const Outcome version = run_fit({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_EQ(version.out.rfind("vramfit " VRAMFIT_VERSION " (", 0), 0U) << version.out;
  EXPECT_EQ(version.out.find('\n'), version.out.size() - 1);
  const Outcome list = run_fit({"--list"});
  EXPECT_EQ(list.status, 0);
  EXPECT_TRUE(has(list.out, "llama3-70b"));
  EXPECT_TRUE(has(list.out, "rtx6000-ada"));
}

TEST(Fit, JsonIsOneObjectThatSumsUp) {
  const Outcome outcome =
      run_fit({"--model", "tinyllama-1.1b", "--train", "--optimizer", "adamw-fused", "--accumulate",
               "2", "--gpu", "rtx4090", "--json"});
  EXPECT_EQ(outcome.status, 0);
  const Json json = Json::parse(outcome.out);
  std::uint64_t sum = 0;
  for (const Json& bytes : json.at("components")) {
    EXPECT_TRUE(bytes.is_number_unsigned());
    sum += bytes.get<std::uint64_t>();
  }
  EXPECT_EQ(sum, json.at("levels").at("allocated"));
  EXPECT_GE(json.at("levels").at("reserved"), sum);
  EXPECT_EQ(json.at("asked").at("accumulate"), 2);
  EXPECT_EQ(json.at("fits"), true);
  EXPECT_FALSE(json.contains("max_batch"));
}

/// The verdict at a batch.
std::string verdict_at(std::vector<std::string> ask, std::int64_t batch) {
  ask.insert(ask.end(), {"--batch", std::to_string(batch)});
  return Json::parse(run_fit(ask).out).at("verdict");
}

TEST(Fit, WhatSurelyFitsAndWhatMayAreTheLastOfTheirKind) {
  const std::vector<std::string> ask = {"--model", "llama2-7b", "--train", "--lora", "16",
                                        "--gpu",   "rtx4090",   "--seq",   "128",    "--json"};
  auto search = ask;
  search.emplace_back("--max-batch");
  const Json json = Json::parse(run_fit(search).out);
  const std::int64_t surely = json.at("largest_surely");
  const std::int64_t possibly = json.at("largest_possibly");
  ASSERT_GT(surely, 0);
  EXPECT_LT(surely, possibly);
  EXPECT_LE(surely, json.at("largest"));
  EXPECT_GE(possibly, json.at("largest"));
  EXPECT_EQ(verdict_at(ask, surely), "FITS");
  EXPECT_EQ(verdict_at(ask, surely + 1), "TIGHT");
  EXPECT_EQ(verdict_at(ask, possibly), "TIGHT");
  EXPECT_EQ(verdict_at(ask, possibly + 1), "OOM");
}

TEST(Fit, StrictIsWhatSurelyFits) {
  std::vector<std::string> ask = {"--model", "llama3-8b", "--batch", "3",
                                  "--seq",   "8192",      "--gpu",   "rtx4090"};
  const Outcome tight = run_fit(ask);
  EXPECT_TRUE(has(tight.out, "TIGHT"));
  ask.emplace_back("--strict");
  EXPECT_EQ(run_fit(ask).status, 1);
  ask[3] = "1";
  EXPECT_EQ(run_fit(ask).status, 0);
}

TEST(Fit, TakesACheckpointsFolderOrAnIdOfTheCache) {
  const ScratchFolder folder;
  const std::string config = text_of(std::string(FIT_DATA_FOLDER) + "/models/qwen3-8b/config.json");
  folder.write("mine/config.json", config);
  folder.write("hub/models--Qwen--Qwen3-9B/snapshots/abc/config.json", config);
  const std::string mine = folder / "mine";
  for (const char* flag : {"--model", "--config"}) {
    EXPECT_TRUE(has(run_fit({flag, mine, "--gpu", "h200"}).out, "mine: 8,190,735,360 parameters"));
  }
  const std::vector<std::string> cache = {"HF_HOME=" + folder.path().string()};
  EXPECT_TRUE(has(run_fit({"--model", "Qwen/Qwen3-9B", "--gpu", "h200"}, cache).out,
                  "Qwen/Qwen3-9B: 8,190,735,360 parameters"));
  const Outcome other = run_fit({"--model", "Qwen/Qwen3-9B-Base", "--gpu", "h200"}, cache);
  EXPECT_EQ(other.status, 2);
  EXPECT_TRUE(has(other.err, "hf download Qwen/Qwen3-9B-Base config.json")) << other.err;
  const Outcome none = run_fit({"--model", folder / "hub", "--gpu", "h200"});
  EXPECT_TRUE(has(none.err, "' holds no config.json; the folder of a checkpoint")) << none.err;
  const Outcome nowhere = run_fit({"--model", "/no/such/model"});
  EXPECT_TRUE(has(nowhere.err, "model: cannot read '/no/such/model': there is none"));
  folder.write("adapter/adapter_config.json", "{}");
  EXPECT_TRUE(has(run_fit({"--model", folder / "adapter"}).err, "it is a LoRA adapter"));
}

TEST(Fit, WhatOthersHoldOfThisMachinesGpuIsNotThere) {
  const std::vector<std::string> ask = {"--model", "llama2-7b", "--json"};
  const Json alone = Json::parse(run_fit(ask, {kH200}).out);
  EXPECT_EQ(alone.at("held_by_others"), 0);
  const std::vector<std::string> busy = {kH200, "FAKE_GPU_USED=10000000000"};
  const Json beside = Json::parse(run_fit(ask, busy).out);
  EXPECT_EQ(beside.at("held_by_others"), 10'000'000'000);
  EXPECT_EQ(alone.at("margin").get<std::int64_t>() - beside.at("margin").get<std::int64_t>(),
            10'000'000'000);
  EXPECT_TRUE(has(run_fit({"--model", "llama2-7b"}, busy).out, "+ held by others     10.00"));
}

TEST(Fit, MaxBatchIsTheLastThatFits) {
  const std::vector<std::string> ask = {"--model", "gpt2-1.5b", "--train",
                                        "--gpu",   "rtx4090",   "--json"};
  auto search = ask;
  search.emplace_back("--max-batch");
  const Outcome outcome = run_fit(search);
  EXPECT_EQ(outcome.status, 0);
  const Json json = Json::parse(outcome.out);
  const std::int64_t batch = json.at("max_batch");
  EXPECT_TRUE(json.at("asked").at("batch").is_null());
  ASSERT_GT(batch, 0);
  auto at = ask;
  at.insert(at.end(), {"--batch", std::to_string(batch)});
  EXPECT_EQ(run_fit(at).status, 0);
  at.back() = std::to_string(batch + 1);
  EXPECT_EQ(run_fit(at).status, 1);
}

TEST(Fit, MaxBatchOfWhatNeverFitsIsZero) {
  const Outcome outcome = run_fit({"--model", "llama2-70b", "--max-batch", "--gpu", "rtx4090"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome.out, "largest batch: 0"));
  const Outcome json =
      run_fit({"--model", "llama2-70b", "--max-seq", "--gpu", "rtx4090", "--json"});
  EXPECT_EQ(json.status, 1);
  EXPECT_EQ(Json::parse(json.out).at("max_seq"), 0);
}

TEST(Fit, WithoutAGpuAnswersForEveryCard) {
  const Outcome text = run_fit({"--model", "llama2-7b", "--train"});
  EXPECT_EQ(text.status, 0);
  EXPECT_TRUE(has(text.out, "h100-80gb"));
  const Json json = Json::parse(run_fit({"--model", "llama2-7b", "--train", "--json"}).out);
  EXPECT_GE(json.at("cards").size(), 25U);
  EXPECT_EQ(json.at("fits"), true);
  const Outcome none = run_fit({"--model", "llama2-70b", "--train", "--max-batch", "--json"});
  EXPECT_EQ(none.status, 1);
  const Json no_card = Json::parse(none.out);
  for (const Json& card : no_card.at("cards")) EXPECT_EQ(card.at("max_batch"), 0);
}

TEST(Fit, SaysWhatACardOrTheReleaseLacks) {
  const std::vector<std::string> ask = {"--model", "tinyllama-1.1b", "--precision", "bf16",
                                        "--gpu",   "v100-32gb",      "--json"};
  const Json json = Json::parse(run_fit(ask).out);
  EXPECT_EQ(json.at("fits"), true);
  EXPECT_TRUE(has(json.at("notes").dump(), "v100-32gb (sm_70) has no bf16 arithmetic"));
  EXPECT_TRUE(
      has(json.at("notes").dump(), "PyTorch 2.11.0 as built for CUDA 13.0 begins at sm_75"));
  EXPECT_EQ(json.at("release").at("transformers"), "5.17.0");
}

TEST(Fit, TakesThisMachinesGpu) {
  const Outcome known = run_fit({"--model", "llama2-7b", "--json"}, {kH200});
  EXPECT_EQ(known.status, 0);
  const Json json = Json::parse(known.out);
  EXPECT_EQ(json.at("gpu").at("name"), "h200");
  EXPECT_EQ(json.at("vram"), 150'754'820'096);
  EXPECT_FALSE(has(json.at("overhead_source"), "assumed"));
  EXPECT_TRUE(has(json.at("notes").dump(), "first of this machine's 2 GPUs, driver 999.88"));

  const Outcome unknown =
      run_fit({"--model", "llama2-7b", "--json"}, {"FAKE_GPU=NVIDIA Toy|8000000000|12|0"});
  EXPECT_EQ(unknown.status, 1);
  const Json toy = Json::parse(unknown.out);
  EXPECT_TRUE(toy.at("gpu").at("name").is_null());
  EXPECT_EQ(toy.at("gpu").at("title"), "NVIDIA Toy");
  EXPECT_EQ(toy.at("gpu").at("arch"), "sm_120");
  EXPECT_TRUE(has(toy.at("overhead_source"), "assumed: "));
}

TEST(Fit, ANamedCardComesBeforeThisMachines) {
  const Json json =
      Json::parse(run_fit({"--model", "llama2-7b", "--gpu", "rtx4090", "--json"}, {kH200}).out);
  EXPECT_EQ(json.at("gpu").at("name"), "rtx4090");
}

TEST(Fit, ReadsAConfigFile) {
  const std::string path = std::string(FIT_DATA_FOLDER) + "/models/qwen2-0.5b/config.json";
  const Outcome outcome = run_fit({"--config", path, "--gpu", "rtx4090"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(has(outcome.out, "qwen2-0.5b: 494,032,768 parameters"));
}

TEST(Fit, AHugeAccumulationOrGenerationIsQuick) {
  EXPECT_EQ(run_fit({"--model", "gpt2-124m", "--train", "--accumulate", "1048576", "--gpu", "h200"})
                .status,
            0);
  EXPECT_EQ(run_fit({"--model", "qwen2-0.5b", "--generate", "1000000", "--gpu", "h200"}).status, 0);
}

TEST(Fit, AnAnswerThatCannotBeWrittenIsAnError) {
  const Outcome outcome = run_fit({"--model", "gpt2-124m", "--gpu", "h200"});
  ASSERT_EQ(outcome.status, 0);
  const std::string command =
      std::string("'") + FIT_PROGRAM + "' --model gpt2-124m --gpu h200 >/dev/full 2>/dev/null";
  const int status = std::system(command.c_str());
  EXPECT_EQ(status, 3 << 8);
}

}  // namespace
}  // namespace vramfit::fit
