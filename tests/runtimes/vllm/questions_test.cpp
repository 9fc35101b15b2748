// vLLM behind the door: what it is asked, searches, what it refuses.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "estimator/ask/ask.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

Json told(std::vector<std::string> flags) {
  flags.insert(flags.begin(), {"--runtime", "vllm"});
  return Json::parse(ask(parse_options(flags), {}).json());
}

Json served(std::vector<std::string> flags) {
  flags.insert(flags.begin(), {"--model", "llama3.1-8b", "--gpu", "rtx4090"});
  return told(std::move(flags)).at("serving");
}

TEST(VllmQuestions, AsManyTokensAsFit) {
  const Json found = served({"--max-model-len", "-1"});
  const std::int64_t length = found.at("max_model_len");
  EXPECT_TRUE(served({"--max-model-len", std::to_string(length)}).at("refusal").is_null());
  const Json beyond = served({"--max-model-len", std::to_string(length + 1)});
  EXPECT_NE(beyond.at("refusal").get<std::string>().find(std::to_string(length)),
            std::string::npos);
  EXPECT_LT(beyond.at("available"), beyond.at("needed"));
}

TEST(VllmQuestions, LengthForRequestsAndTheReverse) {
  const std::vector<std::string> run = {"--model", "llama3.1-8b", "--gpu", "rtx4090"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), run.begin(), run.end());
    return told(std::move(more));
  };
  const Json found = with({"--max-model-len", "4096", "--max-concurrency"});
  const std::int64_t requests = found.at("max_concurrency");
  EXPECT_EQ(requests, static_cast<std::int64_t>(found.at("serving").at("concurrency")));
  const Json longest = with({"--concurrency", std::to_string(requests), "--max-max-model-len"});
  EXPECT_GE(longest.at("max_max_model_len"), 4096);
  EXPECT_FALSE(with({"--max-model-len", "4096", "--concurrency", std::to_string(requests + 1)})
                   .at("fits")
                   .get<bool>());
}

TEST(VllmQuestions, AShareThatLeavesRoom) {
  const Json serving = served({"--max-model-len", "8192"});
  const auto at = [&](double share) {
    return served({"--max-model-len", "8192", "--gpu-memory-utilization", std::to_string(share)});
  };
  const double least = serving.at("least_utilization");
  EXPECT_TRUE(at(least).at("refusal").is_null());
  EXPECT_FALSE(at(least - 0.002).at("refusal").is_null());
}

TEST(VllmQuestions, AFullCacheInHalfTheBytesHoldsTwiceAsMuch) {
  const std::int64_t whole = served({"--max-model-len", "4096"}).at("blocks");
  const std::int64_t half =
      served({"--max-model-len", "4096", "--kv-cache-dtype", "fp8"}).at("blocks");
  EXPECT_NEAR(static_cast<double>(half), 2.0 * static_cast<double>(whole), 1);
}

TEST(VllmQuestions, RanksShareWhatALayerHas) {
  const auto over = [](const char* ranks) {
    return told({"--model", "llama3-70b", "--gpu", "h200", "--tensor-parallel-size", ranks})
        .at("serving");
  };
  const double one = over("1").at("weights");
  EXPECT_NEAR(over("2").at("weights").get<double>(), one / 2, one / 200);
}

TEST(VllmQuestions, StagesShareLayersOut) {
  const auto in = [](const char* stages) {
    return told({"--model", "llama3-70b", "--gpu", "h200", "--pipeline-parallel-size", stages})
        .at("serving");
  };
  const double whole = in("1").at("weights");
  EXPECT_NEAR(in("2").at("weights").get<double>(), whole / 2, whole / 200);
  // Of 80 layers 26 each, and one more in the middle and before the last.
  EXPECT_NEAR(in("3").at("weights").get<double>(), whole * 27 / 80, whole / 50);
  EXPECT_GT(in("4").at("blocks"), in("2").at("blocks"));
}

TEST(VllmQuestions, StagesHaveRoomForAsLongARequestAsTheirFullest) {
  const auto in = [](std::vector<std::string> more) {
    more.insert(more.end(),
                {"--model", "llama3.1-8b", "--gpu", "rtx4090", "--pipeline-parallel-size", "3"});
    return told(std::move(more)).at("serving");
  };
  const std::int64_t length =
      in({"--max-model-len", "-1", "--gpu-memory-utilization", "0.4"}).at("max_model_len");
  const auto asked = [&](std::int64_t tokens) {
    return in({"--max-model-len", std::to_string(tokens), "--gpu-memory-utilization", "0.4"});
  };
  EXPECT_TRUE(asked(length).at("refusal").is_null());
  EXPECT_FALSE(asked(length + 1).at("refusal").is_null());
}

TEST(VllmQuestions, ADraftModelTakesItsWeightsAndPartOfTheCache) {
  const auto with = [](const char* drafts) {
    return told({"--model", "llama3.1-8b", "--gpu", "h200", "--max-model-len", "8192",
                 "--speculative-config", drafts})
        .at("serving");
  };
  const Json ngram = with(R"({"method": "ngram", "num_speculative_tokens": 3})");
  const Json model = with(R"({"model": "llama3.2-1b", "num_speculative_tokens": 3})");
  const double more = model.at("weights").get<double>() - ngram.at("weights").get<double>();
  EXPECT_NEAR(more, 2 * 1.236e9, 2e7);
  // Of 32 layers with 8 heads of 128 each, and 16 with heads half as wide.
  EXPECT_NEAR(model.at("needed").get<double>() / ngram.at("needed").get<double>(), 1.25, 1e-6);
}

TEST(VllmQuestions, KeysOfDraftsThatTakeNothingAreKept) {
  const std::string command =
      served({"--max-model-len", "8192", "--speculative-config",
              R"({"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4,
                  "draft_tensor_parallel_size": 1})"})
          .at("command");
  EXPECT_NE(command.find(R"("prompt_lookup_max":4)"), std::string::npos) << command;
}

TEST(VllmQuestions, PagesThatDoNotGoIntoEachOtherAreOfABlock) {
  expect_bad_input(
      [] {
        told({"--model", "gemma3-1b", "--gpu", "h200", "--block-size", "24"});
      },
      {"block-size: pages of"});
}

TEST(VllmQuestions, LayersThatPredictShareWhatIsEmbedded) {
  const auto weights = [](std::vector<std::string> more) {
    more.insert(more.end(), {"--model", "glm-4.5-air", "--gpu", "h200"});
    return told(std::move(more)).at("serving").at("weights").get<double>();
  };
  // A layer of 128 experts, 4096 wide, of 1408; attention of 96 heads of 128, and what joins both.
  const double layer = 2 * (128.0 * 3 * 4096 * 1408 + 4096.0 * 2 * 4096);
  const double more =
      weights({"--speculative-config", R"({"method": "mtp", "num_speculative_tokens": 1})"}) -
      weights({});
  EXPECT_GT(more, layer);
  EXPECT_LT(more, 1.1 * layer);
}

TEST(VllmQuestions, ReplicasShareExpertsAlone) {
  const auto weights = [](const char* model, std::vector<std::string> more) {
    more.insert(more.end(), {"--model", model, "--gpu", "h200"});
    return told(std::move(more)).at("serving").at("weights").get<double>();
  };
  const double alone = weights("llama3.1-8b", {});
  EXPECT_EQ(weights("llama3.1-8b", {"--data-parallel-size", "4"}), alone);
  const double experts = 2.0 * 48 * 128 * 3 * 2048 * 768;
  const double mixture = weights("qwen3-30b-a3b", {});
  for (const bool whole : {false, true}) {
    std::vector<std::string> four = {"--data-parallel-size", "4"};
    if (whole) four.emplace_back("--enable-expert-parallel");
    EXPECT_NEAR(mixture - weights("qwen3-30b-a3b", four), experts * 3 / 4, experts / 100);
  }
}

TEST(VllmQuestions, WhatSeesTakesItsWeightsUnlessItIsLeftOut) {
  const auto weights = [](const char* model, std::vector<std::string> more) {
    more.insert(more.end(), {"--model", model, "--gpu", "h200"});
    return told(std::move(more)).at("serving").at("weights").get<double>();
  };
  // SigLIP's 27 layers of 1152 with MLPs of 4304, and a little before and behind them.
  const double layer = 4.0 * 1152 * 1152 + 2.0 * 1152 * 4304;
  const double blind = weights("gemma3-4b", {"--language-model-only"});
  EXPECT_NEAR(weights("gemma3-4b", {}) - blind, 2 * 27 * layer, 3e7);
  EXPECT_EQ(weights("gemma3-4b", {"--limit-mm-per-prompt", R"({"image": 0})"}), blind);
  // Pixtral's 24 layers of 1024, whose MLPs of 4096 are gated.
  const double gated = 4.0 * 1024 * 1024 + 3.0 * 1024 * 4096;
  EXPECT_NEAR(weights("ministral3-8b", {}) - weights("ministral3-8b", {"--language-model-only"}),
              2 * 24 * gated, 1e8);
  expect_bad_input(
      [&] {
        weights(
            "gemma3-4b",
            {"--hf-overrides",
             R"({"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 32}})"});
      },
      {"what sees of gemma3-4b is not predicted"});
}

TEST(VllmQuestions, WhatYarnStretchesMayBeAsLong) {
  const auto asked = [](std::vector<std::string> more) {
    more.insert(more.end(), {"--model", "qwen3-8b", "--gpu", "h200", "--max-model-len", "128K"});
    return told(std::move(more)).at("serving");
  };
  expect_bad_input([&] { asked({}); }, {"is more than the config's 40960"});
  constexpr const char* kStretched =
      R"({"rope_scaling": {"rope_type": "yarn", "factor": 4.0,
                           "original_max_position_embeddings": 32768}})";
  EXPECT_EQ(asked({"--hf-overrides", kStretched}).at("max_model_len"), 128 << 10);
}

TEST(VllmQuestions, NumbersAndWordsAsVllmReadsThem) {
  const auto length = [](const char* typed) {
    return served({"--max-model-len", typed}).at("max_model_len").get<int>();
  };
  EXPECT_EQ(length("8k"), 8000);
  EXPECT_EQ(length("8.5k"), 8500);
  EXPECT_EQ(length("8K"), 8192);
  const Json usual = served({"--max-model-len", "4096"});
  for (const char* same : {"-O2", "-O3", "--optimization-level=3"}) {
    EXPECT_EQ(served({"--max-model-len", "4096", same}), usual) << same;
  }
  EXPECT_EQ(served({"--max-model-len", "4096", "-O", "3"}), usual);
}

TEST(VllmQuestions, StatesInFourBytesTakeAWiderPage) {
  const auto blocks = [](std::vector<std::string> more) {
    more.insert(more.end(), {"--model", "granite-4.0-h-tiny", "--gpu", "h200"});
    return told(std::move(more)).at("serving").at("blocks").get<double>();
  };
  EXPECT_NEAR(blocks({}) / blocks({"--mamba-ssm-cache-dtype", "float32"}), 2, 0.05);
}

TEST(VllmQuestions, SlotsOfAdaptersGrowWithTheirNumberAndRank) {
  const auto weights = [](std::vector<std::string> more) {
    more.insert(more.end(), {"--max-model-len", "4096", "--enforce-eager"});
    return served(std::move(more)).at("weights").get<double>();
  };
  const double none = weights({});
  const double one = weights({"--enable-lora"}) - none;
  EXPECT_GT(one, 0);
  EXPECT_NEAR((weights({"--enable-lora", "--max-loras", "4"}) - none) / one, 4, 0.1);
  EXPECT_NEAR((weights({"--enable-lora", "--max-lora-rank", "64"}) - none) / one, 4, 0.1);
}

TEST(VllmQuestions, OnlyTheFirstRunnerPutsWeightsOnTheHost) {
  const auto weights = [](const char* model, const char* gib) {
    return told({"--model", model, "--gpu", "h200", "--cpu-offload-gb", gib})
        .at("serving")
        .at("weights")
        .get<double>();
  };
  constexpr double kGiB = 1 << 30;
  EXPECT_EQ(weights("llama3.1-8b", "4"), weights("llama3.1-8b", "0"));
  EXPECT_NEAR(weights("mixtral-8x7b", "0") - weights("mixtral-8x7b", "8"), 8 * kGiB, kGiB);
}

TEST(VllmQuestions, AnotherReleaseCountsItsBuffers) {
  const auto outside = [](const char* release, const char* requests) {
    return served({"--max-model-len", "4096", "--enforce-eager", "--release", release,
                   "--max-num-seqs", requests})
        .at("outside_torch")
        .get<double>();
  };
  EXPECT_EQ(outside("0.26", "256"), outside("0.26", "64"));
  // Of each further request what it repeats is counted, a word 4 bytes.
  EXPECT_GT(outside("0.33", "256") - outside("0.33", "64"), 4.0 * 192 * 128256);
  const auto offloaded = [](const char* release, const char* gib) {
    return served({"--release", release, "--cpu-offload-gb", gib}).at("weights").get<double>();
  };
  EXPECT_EQ(offloaded("0.26", "4"), offloaded("0.26", "0"));
  EXPECT_LT(offloaded("0.33", "4"), offloaded("0.33", "0"));
}

TEST(VllmQuestions, WhatItDoesNotTakeIsRefused) {
  const auto refused = [](std::vector<std::string> flags, const char* why) {
    expect_bad_input([&] { served(flags); }, {why});
  };
  refused({"--max-model-len", "200000"}, "max-model-len: 200000 is more than the config's 131072");
  refused({"--tensor-parallel-size", "3"}, "32 heads are not shared out evenly by 3");
  refused({"--max-num-seqs", "512", "--max-num-batched-tokens", "256"},
          "fewer than --max-num-seqs");
  refused({"--enable-lora", "--max-lora-rank", "12"}, "max-lora-rank: 12 is none that vLLM takes");
  refused({"--enable-lora", "--dtype", "float32"}, "kernels of adapters take 16 bits");
  refused({"--pipeline-parallel-size", "33"}, "33 stages are more than its layers");
  refused({"--speculative-config", R"({"method": "medusa", "num_speculative_tokens": 3})"},
          "what medusa takes of the card is not predicted");
  refused({"--speculative-config", R"({"method": "eagle3", "num_speculative_tokens": 3})"},
          "speculative-config: model: missing");
  refused({"--speculative-config", R"({"method": "mtp", "num_speculative_tokens": 3})"},
          "what predicts several tokens of LlamaForCausalLM is not known here");
  refused({"--speculative-config", R"({"model": "qwen3-0.6b", "num_speculative_tokens": 3})"},
          "151936 words and llama3.1-8b 128256, which vLLM refuses");
  const auto refused_of_drafts = [&](const std::string& more, const char* why) {
    refused({"--speculative-config",
             R"({"model": "llama3.2-1b", "num_speculative_tokens": 3, )" + more + "}"},
            why);
  };
  refused_of_drafts(R"("bogus": 1)", "speculative-config: bogus");
  refused_of_drafts(R"("max_model_len": 64)", "speculative-config: max_model_len");
  refused_of_drafts(R"("draft_tensor_parallel_size": 2)", "draft_tensor_parallel_size");
  refused({"--quantization", "nvfp4"}, "what nvfp4 keeps is not predicted");
  refused({"--gpu-memory-utilization", "1.5"}, "gpu-memory-utilization");
  const auto refused_of_config = [&](const char* overrides, const char* why) {
    refused({"--hf-overrides", overrides}, why);
  };
  refused_of_config(R"({"rope_scaling": {"rope_type": "foo", "factor": 2}})",
                    "rope_type: is \"foo\"; one of default, linear");
  refused_of_config(R"({"rope_parameters": {"rope_type": "foo"}})", "rope_type: is \"foo\"");
  refused_of_config(R"({"num_attention_heads": 33, "head_dim": null})",
                    "num_attention_heads: is 33, which does not divide hidden_size 4096");
  refused_of_config(R"({"num_key_value_heads": 5})",
                    "num_key_value_heads: is 5, which does not divide num_attention_heads 32");
  refused({"-O1"}, "O1: of what is compiled and captured");
  refused({"--max-model-len", "8.5K"}, "max-model-len: is '8.5K'");
  expect_bad_input(
      [] {
        told({"--model", "gemma4-e2b", "--gpu", "h200"});
      },
      {"what vLLM's Gemma4ForConditionalGeneration takes is not predicted"});
}

}  // namespace
}  // namespace vramfit
