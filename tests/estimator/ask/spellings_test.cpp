#include "estimator/ask/spellings.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

using Texts = std::vector<std::string>;

Texts own(const Texts& typed) { return in_canonical_names(typed).arguments; }

TEST(Spellings, OwnNamesStayAsTheyAre) {
  const Texts line = {"--model", "llama2-7b", "--batch=4", "--train", "-h", "--", "x", "--seq="};
  EXPECT_EQ(own(line), line);
}

TEST(Spellings, UnderscoresInFlagsAreDashes) {
  EXPECT_EQ(own({"--max_batch", "--config=a_b", "--lora_targets", "q_proj"}),
            (Texts{"--max-batch", "--config=a_b", "--lora-targets", "q_proj"}));
}

TEST(Spellings, TransformersAndPeftsNames) {
  EXPECT_EQ(own({"--per_device_train_batch_size", "4", "--gradient_accumulation_steps=2"}),
            (Texts{"--batch", "4", "--accumulate=2"}));
  EXPECT_EQ(own({"--attn_implementation", "eager", "--lora-r", "16"}),
            (Texts{"--attention", "eager", "--lora", "16"}));
  EXPECT_EQ(own({"--optim", "adamw_torch_fused"}), (Texts{"--optimizer", "adamw-fused"}));
  EXPECT_EQ(own({"--optim=adamw_torch"}), (Texts{"--optimizer=adamw"}));
  EXPECT_EQ(own({"--optim=sgd"}), (Texts{"--optimizer=sgd"}));
  EXPECT_EQ(own({"--optim", "adamw_bnb_8bit"}), (Texts{"--optimizer", "adamw-8bit"}));
  EXPECT_EQ(own({"--optim=adamw_8bit"}), (Texts{"--optimizer=adamw-8bit"}));
  EXPECT_EQ(own({"--optim", "paged_adamw_8bit"}), (Texts{"--optimizer", "paged-adamw-8bit"}));
  EXPECT_EQ(own({"--optim", "paged_adamw_32bit"}), (Texts{"--optimizer", "paged-adamw-32bit"}));
  // The Trainer's is transformers' own; torch.optim has one of that name.
  EXPECT_EQ(own({"--optim", "adafactor"}), (Texts{"--optimizer", "adafactor-hf"}));
  EXPECT_EQ(own({"--optimizer", "adafactor"}), (Texts{"--optimizer", "adafactor"}));
  EXPECT_EQ(own({"--torch_dtype", "torch.bfloat16", "--dtype=float32"}),
            (Texts{"--precision", "bf16", "--precision=fp32"}));
  EXPECT_EQ(own({"--model_name_or_path", "x", "--max_seq_length", "512"}),
            (Texts{"--model", "x", "--seq", "512"}));
}

TEST(Spellings, BitsAndBytesConfigs) {
  EXPECT_EQ(own({"--load_in_8bit", "True"}), Texts{"--quant=int8"});
  EXPECT_EQ(own({"--load-in-4bit"}), (Texts{"--quant=fp4", "--quant-compute=fp32"}));
  EXPECT_EQ(own({"--load_in_4bit", "--bnb_4bit_quant_type", "nf4", "--bnb_4bit_compute_dtype",
                 "bfloat16", "--bnb_4bit_use_double_quant=True"}),
            (Texts{"--quant", "nf4", "--quant-compute", "bf16", "--double-quant"}));
  EXPECT_EQ(own({"--load_in_4bit", "False", "--train"}), Texts{"--train"});
  EXPECT_EQ(own({"--load_in_8bit=1", "--load_in_4bit=0"}), Texts{"--quant=int8"});
  EXPECT_EQ(own({"--bnb_4bit_use_double_quant", "True"}), Texts{"--double-quant"});
  EXPECT_EQ(own({"--bnb_4bit_use_double_quant", "False", "--train"}), Texts{"--train"});
}

TEST(Spellings, ContextLengthsAreCalledInThousands) {
  EXPECT_EQ(own({"--seq", "32k", "--generate=1K"}), (Texts{"--seq", "32768", "--generate=1024"}));
  EXPECT_EQ(own({"--seq=k", "--batch=1k"}), (Texts{"--seq=k", "--batch=1k"}));
}

TEST(Spellings, WhatNoByteDependsOnIsPassedOver) {
  const CommandLine line =
      in_canonical_names({"--learning_rate", "2e-4", "--lora-alpha=16", "--train", "--seed", "-1"});
  EXPECT_EQ(line.arguments, Texts{"--train"});
  EXPECT_EQ(line.passed_over, (Texts{"--learning-rate", "--lora-alpha", "--seed"}));
  expect_bad_input([] { own({"--seed", "--train"}); }, {"seed: no value"});
  expect_bad_input([] { own({"--seed"}); }, {"seed: no value"});
}

TEST(Spellings, AListMayHaveSpaces) {
  EXPECT_EQ(own({"--lora-target-modules", "q_proj", "v_proj", "--train"}),
            (Texts{"--lora-targets", "q_proj,v_proj", "--train"}));
  EXPECT_EQ(own({"--lora-target-modules=all-linear"}), (Texts{"--lora-targets=all-linear"}));
  EXPECT_EQ(own({"--lora-target-modules", "q_proj v_proj"}),
            (Texts{"--lora-targets", "q_proj,v_proj"}));
}

TEST(Spellings, CheckpointingIsAFlagOrATruthValue) {
  for (const Texts& on :
       {Texts{"--gradient_checkpointing"}, Texts{"--gradient-checkpointing", "True"},
        Texts{"--gradient_checkpointing=true"}}) {
    EXPECT_EQ(own(on), Texts{"--checkpoint=full"});
  }
  EXPECT_EQ(own({"--gradient_checkpointing", "False"}), Texts{});
  EXPECT_EQ(own({"--gradient_checkpointing", "--train"}), (Texts{"--checkpoint=full", "--train"}));
  expect_bad_input([] { own({"--gradient_checkpointing=yes"}); }, {"gradient-checkpointing"});
  for (const char* reentrant : {R"({"use_reentrant": true})", "{'use_reentrant': True, 'x': 1}"}) {
    EXPECT_EQ(own({"--gradient_checkpointing_kwargs", reentrant, "--gradient_checkpointing"}),
              Texts{"--checkpoint=reentrant"});
    EXPECT_EQ(own({"--gradient_checkpointing_kwargs", reentrant}), Texts{});
  }
  for (const char* other : {"{}", R"({"use_reentrant":false})"}) {
    EXPECT_EQ(own({"--gradient_checkpointing", "--gradient_checkpointing_kwargs", other}),
              Texts{"--checkpoint=full"});
  }
  for (const char* more : {"every_n_layers", "offload"}) {
    const std::string arguments = std::string("{\"") + more + "\": 2}";
    expect_bad_input(
        [&] {
          own({"--gradient_checkpointing_kwargs", arguments.c_str()});
        },
        {more, "not predicted yet; nearest: use_reentrant"});
  }
  for (const char* wrong : {R"({"use_reentrant": maybe})", "use_reentrant", "use_reentrant :"}) {
    expect_bad_input(
        [&] {
          own({"--gradient_checkpointing_kwargs", wrong});
        },
        {"gradient-checkpointing-kwargs", "use_reentrant"});
  }
}

TEST(Spellings, MessagesNameWhatWasTyped) {
  const std::map<std::string, std::string> typed = {{"lora", "lora-r"}};
  EXPECT_EQ(as_typed("lora: is 0", typed), "lora-r: is 0");
  EXPECT_EQ(as_typed("--lora: 1 required", typed), "--lora-r: 1 required");
  EXPECT_EQ(as_typed("lora-targets: only with --lora", typed), "lora-targets: only with --lora");
}

TEST(Spellings, ASwitchHasNoOtherValue) {
  EXPECT_EQ(own({"--train=True", "--max_batch=false"}), Texts{"--train"});
  expect_bad_input([] { own({"--max_batch=8"}); }, {"max-batch: is a switch, and '8'"});
  EXPECT_EQ(own({"--optim", "--train"}), (Texts{"--optimizer", "--train"}));
}

TEST(Spellings, ATrainersPrecisionIsAutocast) {
  for (const char* on : {"--bf16", "--bf16=True", "--bf16=1"}) {
    EXPECT_EQ(own({on}), Texts{"--autocast=bf16"}) << on;
  }
  EXPECT_EQ(own({"--fp16"}), Texts{"--autocast=fp16"});
  EXPECT_EQ(own({"--bf16", "False", "--fp16=0"}), Texts{});
  expect_bad_input([] { own({"--bf16=auto"}); }, {"bf16: is 'auto'; true, false or nothing"});
}

TEST(Spellings, ATrainersOwnFlagsAreKnown) {
  for (const char* flag : {"--bf16", "--optim=sgd", "--per_device_train_batch_size=2"}) {
    EXPECT_TRUE(in_canonical_names({flag}).of_a_trainer) << flag;
    EXPECT_FALSE(in_canonical_names({flag, "--loss-only=false"}).of_a_trainer) << flag;
  }
  for (const char* flag : {"--autocast=bf16", "--optimizer=sgd", "--batch=2", "--lora_r=8"}) {
    EXPECT_FALSE(in_canonical_names({flag}).of_a_trainer) << flag;
  }
}

TEST(Spellings, SeveralGpusAreAsLaunchersAndTheTrainerCallThem) {
  for (const char* flag : {"--nproc_per_node", "--num_processes", "--num-gpus"}) {
    EXPECT_EQ(own({flag, "4"}), (Texts{"--gpus", "4"})) << flag;
  }
  const Texts sharded = {"--strategy=fsdp-accelerate"};
  EXPECT_EQ(own({"--fsdp", "full_shard auto_wrap"}), sharded);
  EXPECT_EQ(own({"--fsdp"}), sharded);
  EXPECT_EQ(own({"--use_fsdp"}), sharded);
  EXPECT_EQ(own({"--use_fsdp=False"}), Texts{});
  EXPECT_EQ(own({"--fsdp=shard_grad_op"}),
            (Texts{"--strategy=fsdp-accelerate", "--reshard-after-forward=false"}));
  EXPECT_EQ(own({"--ddp_bucket_cap_mb", "50", "--gradient_as_bucket_view"}),
            (Texts{"--bucket-cap-mb", "50", "--bucket-view"}));
}

TEST(Spellings, WhatIsNotThereYetIsAnsweredWithWhatIsNearest) {
  for (const char* flag : {"--qlora", "--bits=4", "--quantization"}) {
    expect_bad_input([&] { own({flag}); },
                     {"quantized weights are not predicted yet", "nearest: bitsandbytes' --quant"});
  }
  for (const char* flag : {"--deepspeed=x.json", "--use_deepspeed", "--tensor_parallel_size"}) {
    expect_bad_input([&] { own({flag}); },
                     {"vramfit run runs the script; nearest: --gpus N --strategy fsdp"});
  }
  expect_bad_input([] { own({"--fsdp", "hybrid_shard"}); }, {"fsdp: 'hybrid_shard' is not"});
  expect_bad_input([] { own({"--attn_implementation", "flash_attention_2"}); }, {"nearest: sdpa"});
}

/// A runtime that has its own --quantization.
class OfItsOwnWords final : public Runtime {
 public:
  const char* name() const override { return "theirs"; }
  const Settings& settings() const override {
    static const Settings rows = {
        {.name = "weights", .spellings = {{"quantization"}, {"seed"}}},
        {.name = "shards", .spellings = {{"tensor-parallel-size"}}},
        {.name = "adapter", .spellings = {{"lora-r"}}},
    };
    return rows;
  }
  bool runs(const FamilyReader&) const override { return true; }
  const Capabilities& can() const override {
    static const Capabilities can;
    return can;
  }
  const std::vector<SearchAxis>& axes() const override { return batch_and_seq(); }

 private:
  std::shared_ptr<const Workload> read(const Flags&, bool, const ModelConfig&) const override {
    return nullptr;
  }
};

TEST(Spellings, ARuntimesOwnWordsGoBeforeOthersAndBeforeWhatIsRefused) {
  const auto in_its_words = [](const Texts& typed) {
    return in_canonical_names(typed, OfItsOwnWords()).arguments;
  };
  EXPECT_EQ(in_its_words({"--quantization", "awq"}), (Texts{"--weights", "awq"}));
  EXPECT_EQ(in_its_words({"--tensor_parallel_size=2"}), Texts{"--shards=2"});
  EXPECT_EQ(in_its_words({"--lora-r=8", "--seed=1"}), (Texts{"--adapter=8", "--weights=1"}));
  EXPECT_EQ(in_its_words({"--optim", "adamw_torch"}), (Texts{"--optimizer", "adamw"}));
  expect_bad_input([&] { in_its_words({"--deepspeed=x"}); }, {"not predicted yet"});
}

TEST(Spellings, WhichOfOursTheirsSet) {
  EXPECT_EQ(canonical_flag("per_device_train_batch_size"), "batch");
  EXPECT_EQ(canonical_flag("gradient_checkpointing"), "checkpoint");
  EXPECT_EQ(canonical_flag("gradient_checkpointing_kwargs"), "gradient-checkpointing-kwargs");
  EXPECT_EQ(canonical_flag("load_in_4bit"), "quant");
  EXPECT_EQ(canonical_flag("use_fsdp"), "strategy");
  EXPECT_EQ(canonical_flag("bf16"), "autocast");
  EXPECT_EQ(canonical_flag("max_batch"), "max-batch");
}

}  // namespace
}  // namespace vramfit
