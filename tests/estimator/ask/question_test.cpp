#include "estimator/ask/question.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/expect_bad_input.h"
#include "tests/support/workloads.h"

namespace vramfit {
namespace {

Request only_request(const FitOptions& options) {
  const Question question = resolve_question(options, {});
  EXPECT_EQ(question.requests.size(), 1U);
  return question.requests.front();
}

bool assumes(const Question& question, const char* flag) {
  const std::vector<std::string>& list = question.assumed;
  return std::find(list.begin(), list.end(), flag) != list.end();
}

FitOptions asked_of_pytorch() {
  FitOptions options;
  options.model = "llama2-7b";
  options.gpu = "h200";
  return options;
}

FitOptions asked_of_vramfit() {
  FitOptions options = asked_of_pytorch();
  options.runtime = "vramfit";
  return options;
}

TEST(Question, DefaultsArePytorchs) {
  const Request request = only_request(asked_of_pytorch());
  EXPECT_STREQ(request.workload->runtime().name(), "pytorch");
  const auto& options = options_of<pytorch::TorchGeneration>(request);
  EXPECT_EQ(options.precision, DType::Fp16) << "as its config says";
  EXPECT_EQ(options.batch, 1);
  EXPECT_EQ(options.seq, 2048);
  EXPECT_EQ(options.generate, 1);
  EXPECT_EQ(options.attention, pytorch::AttentionKind::Sdpa);
  EXPECT_FALSE(options.padded);
}

TEST(Question, AModelRunsInTheTypeItsConfigNames) {
  for (const char* runtime : {"pytorch", "vramfit"}) {
    for (const bool train : {false, true}) {
      FitOptions o = asked_of_pytorch();
      o.runtime = runtime;
      o.train = train;
      const auto expect = [&](const char* precision, const char* why, bool assumed) {
        const Question question = resolve_question(o, {});
        EXPECT_EQ(question.requests.front().workload->asked().at("precision"), precision);
        EXPECT_NE(question.runs_with.find(std::string(" in ") + precision), std::string::npos);
        EXPECT_NE(question.runs_with.find(why), std::string::npos) << question.runs_with;
        EXPECT_EQ(assumes(question, "precision"), assumed);
      };
      expect("fp16", ", as its config says", true);
      o.model = "tinyllama-1.1b";
      expect("bf16", ", as its config says", true);
      o.flags["precision"] = "fp32";
      expect("fp32", " in fp32", false);
      o.flags.clear();
      o.model = "gpt2-124m";
      o.flags["seq"] = "8";
      expect("bf16", ", the default", true);
    }
  }
}

TEST(Question, TheArticlesDefaultIsItsOwn) {
  FitOptions o = asked_of_pytorch();
  o.runtime = "article";
  o.model = "tinyllama-1.1b";
  const Question question = resolve_question(o, {});
  EXPECT_EQ(question.requests.front().workload->asked().at("precision"), "fp16");
  EXPECT_EQ(question.runs_with,
            "parameters in fp16, the default; batch 1 and 2048 tokens by default");
}

TEST(Question, WhatNoByteDependsOnIsNoted) {
  FitOptions o = asked_of_pytorch();
  o.passed_over = {"--learning-rate", "--seed"};
  EXPECT_EQ(only_request(o).model.notes.back(),
            "passed over, as memory does not depend on it: --learning-rate, --seed");
}

TEST(Question, TheOptimizerIsTransformersUnlessOneIsNamed) {
  FitOptions o = asked_of_pytorch();
  o.train = true;
  EXPECT_EQ(options_of<pytorch::TorchTraining>(only_request(o)).optimizer,
            pytorch::TorchOptimizer::AdamWFused);
  EXPECT_EQ(resolve_question(o, {}).runs_with,
            "adamw-fused, transformers' default; weights, gradients and optimizer states in fp16, "
            "as its config says; batch 1 and 2048 tokens by default");
  EXPECT_TRUE(assumes(resolve_question(o, {}), "optimizer"));
  o.flags["optimizer"] = "adamw";
  EXPECT_EQ(options_of<pytorch::TorchTraining>(only_request(o)).optimizer,
            pytorch::TorchOptimizer::AdamW);
  EXPECT_FALSE(assumes(resolve_question(o, {}), "optimizer"));
}

TEST(Question, ABareHeadroomIsInGbToo) {
  FitOptions o = asked_of_pytorch();
  o.headroom = "2";
  EXPECT_EQ(only_request(o).budget.headroom, 2'000'000'000U);
}

TEST(Question, PureFp16TrainingIsNoted) {
  const auto noted = [](const FitOptions& options) {
    const std::vector<std::string> notes = only_request(options).model.notes;
    return !notes.empty() && notes.back().starts_with("training in pure fp16");
  };
  FitOptions o = asked_of_pytorch();
  EXPECT_FALSE(noted(o));
  o.train = true;
  EXPECT_TRUE(noted(o));
  o.flags["lora"] = "8";
  EXPECT_FALSE(noted(o)) << "adapters are in fp32";
  o.flags.clear();
  o.flags["precision"] = "bf16";
  EXPECT_FALSE(noted(o));
}

TEST(Question, ABareSizeIsInGb) {
  FitOptions o = asked_of_pytorch();
  o.gpu = std::nullopt;
  const auto vram = [&](const char* text) {
    o.vram = text;
    return only_request(o).budget.vram;
  };
  EXPECT_EQ(vram("24"), 24'000'000'000U);
  EXPECT_EQ(vram("23.5"), 23'500'000'000U);
  EXPECT_EQ(vram("24000000000"), 24'000'000'000U);
  EXPECT_EQ(vram("24GiB"), 24ULL << 30);
  for (const char* none : {"0", "0.0"}) {
    expect_bad_input([&] { vram(none); }, {"vram: is 0; the size of a GPU such as 24GiB"});
  }
  for (const char* none : {"24564", "999B", "24000"}) {
    expect_bad_input([&] { vram(none); }, {"vram: '", none, "bytes", "24GiB"});
  }
}

TEST(Question, TrainingInPytorchTakesEveryFlag) {
  FitOptions o = asked_of_pytorch();
  o.train = true;
  o.flags["optimizer"] = "adamw-fused";
  o.flags["precision"] = "fp32";
  o.flags["autocast"] = "fp16";
  o.flags["batch"] = "3";
  o.flags["seq"] = "77";
  o.flags["accumulate"] = "5";
  o.flags["attention"] = "eager";
  o.flags["checkpoint"] = "full";
  o.flags["lora"] = "16";
  o.flags["lora-targets"] = "q_proj,o_proj";
  const Request request = only_request(o);
  const auto& options = options_of<pytorch::TorchTraining>(request);
  EXPECT_EQ(options.optimizer, pytorch::TorchOptimizer::AdamWFused);
  EXPECT_EQ(options.precision, DType::Fp32);
  EXPECT_EQ(options.autocast, DType::Fp16);
  EXPECT_EQ(options.batch, 3);
  EXPECT_EQ(options.seq, 77);
  EXPECT_EQ(options.accumulate, 5);
  EXPECT_EQ(options.attention, pytorch::AttentionKind::Eager);
  EXPECT_EQ(options.checkpoint, pytorch::GradientCheckpointing::Full);
  EXPECT_EQ(options.lora->rank, 16);
  EXPECT_EQ(options.lora->targets, (std::vector<std::string>{"q_proj", "o_proj"}));
}

TEST(Question, AllLinearIsEveryProjection) {
  FitOptions o = asked_of_pytorch();
  o.train = true;
  o.flags["lora"] = "8";
  o.flags["lora-targets"] = "all-linear";
  const Request request = only_request(o);
  EXPECT_EQ(options_of<pytorch::TorchTraining>(request).lora->targets.size(), 7U);
}

TEST(Question, LoraTargetsArePefts) {
  FitOptions o = asked_of_pytorch();
  o.train = true;
  o.flags["lora"] = "8";
  const auto targets = [&](const char* model) {
    o.model = model;
    return options_of<pytorch::TorchTraining>(only_request(o)).lora->targets;
  };
  EXPECT_EQ(targets("llama2-7b"), (std::vector<std::string>{"q_proj", "v_proj"}));
  EXPECT_EQ(targets("gpt2-124m"), (std::vector<std::string>{"c_attn"}));
  EXPECT_EQ(targets("pythia-1b"), (std::vector<std::string>{"query_key_value"}));
}

TEST(Question, DefaultsOfVramfit) {
  const Request request = only_request(asked_of_vramfit());
  EXPECT_STREQ(request.workload->runtime().name(), "vramfit");
  const auto& options = options_of<GenerationOptions>(request);
  EXPECT_EQ(options.precision, DType::Fp16) << "as its config says";
  EXPECT_EQ(options.batch, 1);
  EXPECT_EQ(options.seq, 2048);
  EXPECT_EQ(options.generate, 1);
  EXPECT_EQ(options.attention, AttentionForm::Flash);
  EXPECT_EQ(request.budget.headroom, 0U);
}

TEST(Question, TrainingTakesEveryFlag) {
  FitOptions o = asked_of_pytorch();
  o.train = true;
  o.flags["optimizer"] = "sgd-momentum";
  o.flags["precision"] = "fp32";
  o.flags["batch"] = "3";
  o.flags["seq"] = "77";
  o.flags["accumulate"] = "5";
  o.flags["attention"] = "cublas";
  o.headroom = "2GB";
  o.runtime = "vramfit";
  const Request request = only_request(o);
  const auto& options = options_of<TrainingOptions>(request);
  EXPECT_STREQ(options.optimizer.name, "sgd-momentum");
  EXPECT_EQ(options.precision, DType::Fp32);
  EXPECT_EQ(options.batch, 3);
  EXPECT_EQ(options.seq, 77);
  EXPECT_EQ(options.accumulate, 5);
  EXPECT_EQ(options.attention, AttentionForm::Cublas);
  EXPECT_EQ(request.budget.headroom, 2'000'000'000U);
}

TEST(Question, TrainingDefaultsToAdamw) {
  FitOptions o = asked_of_vramfit();
  o.train = true;
  EXPECT_STREQ(options_of<TrainingOptions>(only_request(o)).optimizer.name, "adamw");
}

TEST(Question, SevenBillionIsLlamaShaped) {
  FitOptions o = asked_of_pytorch();
  o.model = std::nullopt;
  o.params = "7B";
  o.hidden = "4096";
  o.layers = "32";
  const Request request = only_request(o);
  EXPECT_EQ(request.model.layers, 32);
  EXPECT_EQ(request.model.hidden, 4096);
  ASSERT_FALSE(request.model.notes.empty());
  EXPECT_NE(request.model.notes[0].find("shape assumed"), std::string::npos);
}

TEST(Question, AShortModelIsAskedAboutAllItsPositions) {
  FitOptions o = asked_of_pytorch();
  o.model = "gpt2-124m";
  o.flags["generate"] = "25";
  EXPECT_EQ(only_request(o).workload->size(kSeqAxis), 1000);
  EXPECT_NE(only_request(o).model.notes.back().find("seq 1000"), std::string::npos);
  o.flags["seq"] = "999";
  EXPECT_EQ(only_request(o).workload->size(kSeqAxis), 999);
}

TEST(Question, VramSetsTheSizeOfANamedCard) {
  FitOptions o = asked_of_pytorch();
  o.vram = "24GiB";
  const Request request = only_request(o);
  EXPECT_EQ(request.budget.gpu, "h200");
  EXPECT_EQ(request.budget.arch.sm, 90);
  EXPECT_EQ(request.budget.vram, 24ULL << 30);
  EXPECT_EQ(request.budget.notes.size(), 1U);
}

TEST(Question, ThisMachinesGpuIsAskedOnlyWhereNoneIsNamed) {
  int asked = 0;
  const auto this_gpu = [&asked] {
    ++asked;
    return std::optional(budget_of_gpu("Some GPU", Arch{86}, 8'000'000'000));
  };
  FitOptions o = asked_of_pytorch();
  resolve_question(o, {this_gpu, {}, {}});
  o.vram = "8GB";
  o.gpu = std::nullopt;
  resolve_question(o, {this_gpu, {}, {}});
  EXPECT_EQ(asked, 0);
  o.vram = std::nullopt;
  const Question question = resolve_question(o, {this_gpu, {}, {}});
  EXPECT_EQ(asked, 1);
  ASSERT_EQ(question.requests.size(), 1U);
  EXPECT_EQ(question.requests[0].budget.title, "Some GPU");
  EXPECT_FALSE(question.every_card);
}

/// What is asked of a run of llama2-7b on two H200s or one, by a command line.
nlohmann::json asked_by(std::vector<std::string> more) {
  more.insert(more.end(), {"--model=llama2-7b", "--gpu=h200", "--train"});
  return only_request(parse_options(more)).workload->asked();
}

TEST(Question, ATrainersPrecisionIsAutocastOverWeightsOfAnyType) {
  for (const char* precision : {"fp32", "bf16"}) {
    const auto asked = asked_by({"--bf16", std::string("--precision=") + precision});
    EXPECT_EQ(asked.at("autocast"), "bf16");
    EXPECT_EQ(asked.at("precision"), precision);
    EXPECT_EQ(asked.at("loss_only"), true) << "a Trainer passes on no more";
  }
  EXPECT_EQ(asked_by({"--autocast=bf16"}).at("loss_only"), false) << "a script of one's own";
  EXPECT_EQ(asked_by({"--bf16", "--loss-only=false"}).at("loss_only"), false);
  EXPECT_EQ(asked_by({"--per_device_train_batch_size=2"}).at("loss_only"), true);
}

TEST(Question, UnderFsdpATrainersPrecisionIsMixed) {
  for (const char* strategy : {"--fsdp=full_shard", "--strategy=fsdp"}) {
    const auto asked = asked_by({"--bf16", "--gpus=2", strategy});
    EXPECT_EQ(asked.at("autocast"), nullptr);
    EXPECT_EQ(asked.at("precision"), "fp32");
    EXPECT_EQ(asked.at("mixed_precision").at("param"), "bf16");
  }
}

TEST(Question, HasTheBucketsThatWereAskedFor) {
  EXPECT_EQ(asked_by({"--gpus=2", "--bucket-cap-mb=50"}).at("bucket_cap_mb"), 50);
  EXPECT_EQ(asked_by({"--gpus=2"}).at("bucket_cap_mb"), nullptr);
}

TEST(Question, WeightsInFewBitsRunAsTheyAreStored) {
  const std::string config = R"({"model_type": "llama", "hidden_size": 256, "vocab_size": 320,
      "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 4, "quantization_config": )";
  FitOptions o = asked_of_pytorch();
  o.model = "mine";
  o.config_json = config + R"({"quant_method": "bitsandbytes", "load_in_4bit": true,
      "bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": "bfloat16",
      "bnb_4bit_use_double_quant": true}})";
  expect_bad_input([&] { resolve_question(o, {}); }, {"bitsandbytes' nf4; --quant nf4"});
  o.flags["quant"] = "int8";
  expect_bad_input([&] { resolve_question(o, {}); }, {"bitsandbytes' nf4; --quant nf4"});
  o.runtime = "vramfit";
  o.flags.clear();
  expect_bad_input([&] { resolve_question(o, {}); }, {"bitsandbytes' nf4; --runtime pytorch"});
  o.runtime = "pytorch";
  o.flags["quant"] = "nf4";
  EXPECT_EQ(only_request(o).workload->asked().at("quant").dump(),
            R"({"format":"nf4","double_quant":true,"compute":"bf16"})");
  o.flags.clear();
  for (const char* none : {"{}", R"({"load_in_4bit": false, "load_in_8bit": false})",
                           R"({"quant_method": "bitsandbytes", "llm_int8_threshold": 6.0})"}) {
    o.config_json = config + none + "}";
    EXPECT_EQ(only_request(o).workload->asked().at("quant"), nullptr) << none;
  }
}

TEST(Question, WhatBitsandbytesHasAndFlagsLackIsRefused) {
  const std::string config = R"({"model_type": "llama", "hidden_size": 256, "vocab_size": 320,
      "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 4, "quantization_config": {"load_in_8bit": true, )";
  FitOptions o = asked_of_pytorch();
  o.model = "mine";
  o.flags["quant"] = "int8";
  for (const char* key :
       {R"("llm_int8_skip_modules": ["lm_head", "model.layers.1.mlp"])",
        R"("llm_int8_has_fp16_weight": true)", R"("llm_int8_enable_fp32_cpu_offload": true)",
        R"("bnb_4bit_quant_storage": "bfloat16")"}) {
    o.config_json = config + key + "}}";
    const std::string name(key + 1, std::string(key).find('"', 1) - 1);
    expect_bad_input([&] { resolve_question(o, {}); }, {name.c_str(), "is not predicted"});
  }
  o.config_json = config + R"("llm_int8_skip_modules": ["lm_head"]}})";
  EXPECT_EQ(only_request(o).workload->asked().at("quant").at("format"), "int8");
  o.config_json = config + R"("quant_method": "gptq", "bits": 4}})";
  expect_bad_input([&] { resolve_question(o, {}); }, {"quantization_config", "in 16 bits"});
}

TEST(Question, WithoutAnyGpuItIsAboutEveryCard) {
  FitOptions o = asked_of_pytorch();
  o.gpu = std::nullopt;
  o.headroom = "1GB";
  const Question question = resolve_question(o, {});
  EXPECT_TRUE(question.every_card);
  ASSERT_EQ(question.requests.size(), cards().size());
  for (std::size_t i = 0; i < cards().size(); ++i) {
    EXPECT_EQ(question.requests[i].budget.gpu, cards()[i].name);
    EXPECT_EQ(question.requests[i].budget.headroom, 1'000'000'000U);
  }
}

TEST(Question, Searches) {
  FitOptions o = asked_of_pytorch();
  EXPECT_EQ(resolve_question(o, {}).search, nullptr);
  o.searches = {"batch"};
  EXPECT_EQ(*resolve_question(o, {}).search, kBatchAxis);
  o.searches = {"seq"};
  EXPECT_EQ(*resolve_question(o, {}).search, kSeqAxis);
}

}  // namespace
}  // namespace vramfit
