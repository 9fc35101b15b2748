#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "model/printable.h"
#include "tests/estimator/fit/command.h"
#include "tests/support/scratch_folder.h"

namespace vramfit::fit {
namespace {

struct Case {
  std::vector<std::string> arguments;
  std::string part;  ///< of the message
};

/// Status 2, nothing on stdout, and one line that says what is wrong.
void expect_refused(const Case& c, const Outcome& outcome) {
  std::string shown;
  for (const std::string& argument : c.arguments) shown += argument.substr(0, 80) + " ";
  SCOPED_TRACE(shown);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err.rfind("vramfit: error: ", 0), 0U) << outcome.err;
  ASSERT_FALSE(outcome.err.empty());
  EXPECT_EQ(outcome.err.back(), '\n');
  const std::string line = outcome.err.substr(0, outcome.err.size() - 1);
  EXPECT_EQ(line, printable(line));
  EXPECT_LE(line.size(), 200U) << line;
  EXPECT_NE(outcome.err.find(c.part), std::string::npos) << outcome.err;
}

void expect_refused(const Case& c) { expect_refused(c, call_fit(c.arguments)); }

Case on_7b(std::vector<std::string> arguments, std::string part) {
  arguments.insert(arguments.begin(), {"--model", "llama2-7b"});
  return {std::move(arguments), std::move(part)};
}

Case in_vramfit(std::vector<std::string> arguments, std::string part) {
  arguments.insert(arguments.begin(), {"--runtime", "vramfit"});
  return on_7b(std::move(arguments), std::move(part));
}

TEST(FitRefuses, AdviceOnWhatIsNotOneRunOnOneCard) {
  const std::vector<Case> cases = {
      on_7b({"--advise"}, "advise: of a run on one card; --gpu or --vram names it"),
      on_7b({"--advise", "--gpu", "rtx4090", "--max-batch"}, "advise: of a run of one size"),
      on_7b({"--advise", "--gpu", "rtx4090", "--max-seq"}, "advise: of a run of one size"),
      on_7b({"--advise", "--gpu", "rtx4090", "--runtime", "article"},
            "advise: formulas are not to be relied on; without --runtime article"),
      on_7b({"--advise", "--gpu", "rtx4090", "--verify", "x"}, "verify: is an answer of its own"),
      on_7b({"--advise=maybe", "--gpu", "rtx4090"}, "advise: is a switch"),
      on_7b({"--advise", "please", "--gpu", "rtx4090"}, "'please' belongs to no flag"),
  };
  for (const Case& c : cases) expect_refused(c);
}

TEST(FitRefuses, ModelsItDoesNotKnow) {
  const std::vector<Case> cases = {
      {{}, "model: missing"},
      {{"--train"}, "model: missing"},
      {{"--model", "colossus"},
       "model: unknown 'colossus'; one of those that vramfit --list shows"},
      {{"--model", ""}, "model"},
      {{"--model"}, "--model"},
      {{"--model", "../llama2-7b"}, "model: cannot read '../llama2-7b': there is none"},
      {{"--model", "llama2-7b", "--gpu", "h200", "--max-seq", "--generate", "5000"},
       "generate: leaves no room for a prompt within the 4096 positions"},
      {{"--config", "/no/such/config.json"}, "config: cannot read"},
      {{"--config", "/tmp"}, "config: '/tmp' holds no config.json"},
      {{"--config", "/dev/null"}, "it is no regular file"},
      {{"--config", "/dev/zero"}, "it is no regular file"},
      {{"--config", ""}, "config: cannot read"},
      {{"--config", std::string(FIT_DATA_FOLDER) + "/gpus.json"}, "model_type"},
      {{"--params", "0"}, "params"},
      {{"--params", "-7B"}, "params"},
      {{"--params", "7GB"}, "params"},
      {{"--params", "lots"}, "params"},
      {{"--params", "999999999T"}, "params"},
      {{"--params", "1e400"}, "params: is '1e400'; a count such as 7B"},
      {{"--params", "NaN"}, "params: is 'NaN'; a count such as 7B"},
      {{"--params", "1K"},
       "params: is 1000; no llama-shaped model comes within 10 %, the nearest has 8454528"},
      {{"--params", "7B", "--hidden", "32896"},
       "hidden: is 32896; a multiple of 128, which a head is wide, from 128 to 32768"},
      {{"--params", "7B", "--hidden", "4000"}, "hidden"},
      {{"--params", "7B", "--hidden", "0"}, "hidden"},
      {{"--params", "7B", "--layers", "-1"}, "layers"},
      {{"--params", "7B", "--hidden", "4096", "--layers", "2"}, "params"},
  };
  for (const Case& c : cases) expect_refused(c);
}

TEST(FitRefuses, ValuesThatAreNone) {
  const std::vector<Case> cases = {
      on_7b({"--checkpoint", "--train"}, "checkpoint: no value before '--train'"),
      on_7b({"--precision", "q4_k_m"}, "quantized weights are not predicted yet"),
      on_7b({"--batch", "0"}, "batch"),
      on_7b({"--batch", "-1"}, "batch"),
      on_7b({"--batch", "four"}, "batch: is 'four'; a whole number"),
      on_7b({"--batch", "1.5"}, "batch"),
      on_7b({"--batch", ""}, "batch"),
      on_7b({"--batch", "99999999999999999999"}, "batch"),
      on_7b({"--batch", "9223372036854775807"}, "batch"),
      on_7b({"--seq", "0"}, "seq"),
      on_7b({"--seq", "9223372036854775807"}, "seq"),
      on_7b({"--seq", "16777216", "--batch", "1048576", "--attention", "eager"}, "sizes"),
      in_vramfit({"--seq", "16777216", "--batch", "1048576", "--attention", "cublas"}, "sizes"),
      on_7b({"--generate", "0"}, "generate"),
      on_7b({"--generate", "-9223372036854775808"}, "generate"),
      on_7b({"--train", "--accumulate", "0"}, "accumulate"),
      on_7b({"--train", "--accumulate", "9223372036854775807"}, "accumulate"),
      on_7b({"--train", "--optimizer", "lion"}, "optimizer: unknown 'lion' under pytorch"),
      on_7b({"--train", "--optimizer", "adamw-master"}, "pytorch; adamw-fused, adamw, adamw-loop"),
      in_vramfit({"--train", "--optimizer", "adam"}, "optimizer: unknown 'adam'; one of sgd"),
      in_vramfit({"--train", "--optimizer", "adamw-fused"}, "optimizer: unknown 'adamw-fused'"),
      in_vramfit({"--train", "--optimizer", "adamw-master", "--precision", "fp32"}, "optimizer"),
      on_7b({"--train", "--fp16"},
            "fp16: fp16 needs GradScaler, which takes no gradients in 16 bits"),
      on_7b({"--train", "--precision=bf16", "--fp16"}, "fp16: fp16 needs GradScaler"),
      on_7b({"--bf16"}, "bf16: only with --train"),
      on_7b({"--train", "--bf16", "--runtime", "vramfit"}, "bf16: only under --runtime pytorch"),
      on_7b({"--load-in-8bit=junk"}, "load-in-8bit: is 'junk'; true, false or nothing"),
      on_7b({"--load-in-4bit=yes"}, "load-in-4bit: is 'yes'; true, false or nothing"),
      on_7b({"--train", "--precision", "fp32", "--autocast", "int8"}, "autocast: unknown 'int8'"),
      on_7b({"--train", "--precision", "fp32", "--autocast", "fp32"},
            "autocast: unknown 'fp32'; bf16 or fp16"),
      on_7b({"--train", "--checkpoint", "some"},
            "checkpoint: unknown 'some'; none, full or reentrant"),
      on_7b({"--train", "--lora", "0"}, "lora"),
      on_7b({"--train", "--lora", "many"}, "lora"),
      on_7b({"--train", "--lora", "8", "--lora-targets", "c_attn"}, "lora-targets: llama has no"),
      on_7b({"--train", "--lora", "8", "--lora-targets", ""}, "lora-targets"),
      on_7b({"--train", "--lora", "8", "--lora-targets", "q_proj,"}, "lora-targets: a name is"),
      on_7b({"--train", "--lora", "8", "--lora-targets", ",q_proj"}, "lora-targets: a name is"),
      on_7b({"--precision", "int8"},
            "precision int8: in this form quantized weights are not predicted yet"),
      on_7b({"--quant", "int4"}, "quant: unknown 'int4'; int8, nf4 or fp4"),
      on_7b({"--quant", ""}, "quant: unknown"),
      on_7b({"--quant", "nf4", "--train"}, "quant: quantised weights are not trained; --lora 16"),
      on_7b({"--padded", "--unpadded"}, "padded and unpadded contradict each other"),
      on_7b({"--double-quant"}, "double-quant: only with --quant nf4 or fp4"),
      on_7b({"--quant", "int8", "--double-quant"}, "double-quant: only with --quant nf4 or fp4"),
      on_7b({"--quant", "int8", "--quant-compute", "fp32"}, "quant-compute: only with --quant nf4"),
      on_7b({"--quant", "nf4", "--quant-compute", "int8"}, "quant-compute: unknown 'int8'; fp32"),
      on_7b({"--quant", "nf4", "--precision", "fp64"}, "precision: "),
      on_7b({"--device-map", "cpu"}, "device-map: unknown 'cpu'; cuda"),
      on_7b({"--device-map", "auto", "--train"}, "device-map: auto is for inference"),
      on_7b({"--cache-implementation", "paged"}, "cache-implementation: unknown 'paged'"),
      on_7b({"--cache-implementation", "static", "--train"}, "cache-implementation: only with"),
      in_vramfit({"--quant", "nf4"}, "quant: only under --runtime pytorch"),
      on_7b({"--precision", "int9"}, "precision: unknown 'int9'"),
      on_7b({"--runtime", "article", "--train", "--gpus", "4", "--batch", "2"}, "gpus: "),
      on_7b({"--runtime", "article", "--train", "--gpus", "4", "--max-batch"}, "max-batch: "),
      on_7b({"--runtime", "article", "--train", "--gpus", "4", "--precision", "bf16"},
            "gpus: only with --precision fp16 and --optimizer adam"),
      on_7b({"--train", "--gpus", "0"}, "gpus: 0; 1 to 65536"),
      on_7b({"--train", "--gpus", "two"}, "gpus: is 'two'"),
      on_7b({"--train", "--strategy", "ddp"}, "strategy: only with --gpus"),
      on_7b({"--train", "--gpus", "1", "--strategy", "ddp"}, "strategy: only with --gpus 2"),
      on_7b({"--train", "--gpus", "2", "--strategy", "ring"}, "strategy: unknown 'ring' under"),
      on_7b({"--train", "--gpus", "2", "--strategy", "zero2"}, "strategy: zero2 is DeepSpeed's"),
      on_7b({"--train", "--gpus", "4", "--strategy", "pipeline_parallel", "--schedule", "1f1b"},
            "accumulate: Schedule1F1B wants a micro-batch for each of 4 stages at least"),
      on_7b({"--train", "--gpus", "2", "--strategy", "pipeline", "--schedule", "zb"},
            "schedule: unknown 'zb'; 1f1b or gpipe"),
      on_7b({"--train", "--gpus", "2", "--strategy", "fsdp", "--schedule", "gpipe"},
            "schedule: only with --gpus 2 or more and --strategy pipeline"),
      on_7b(
          {"--train", "--gpus", "2", "--strategy", "pipeline", "--accumulate", "2", "--lora", "8"},
          "lora: with a pipeline is not predicted yet"),
      on_7b({"--train", "--gpus", "3", "--strategy", "tensor_parallel"},
            "gpus: tp cuts llama2-7b's 32 attention heads in equal parts, not in 3; --gpus 2"),
      on_7b({"--train", "--gpus", "2", "--strategy", "tp", "--optimizer", "adamw-fused"},
            "optimizer: adamw-fused with tp raises"),
      on_7b({"--train", "--gpus", "2", "--strategy", "tp", "--lora", "8"},
            "lora: with tp is not predicted yet"),
      on_7b({"--train", "--gpus", "2", "--strategy", "tp", "--device-map", "cuda"},
            "device-map: tp_plan excludes it"),
      on_7b({"--gpus", "2", "--strategy", "tp", "--quant", "nf4"}, "quant: with tp is not"),
      on_7b({"--train", "--gpus", "2", "--strategy", "fsdp", "--optimizer", "adamw-8bit"},
            "optimizer: adamw-8bit with fsdp raises: bitsandbytes' kernels take no DTensor"),
      on_7b({"--train", "--gpus", "2", "--strategy", "fsdp", "--optimizer", "adafactor"},
            "optimizer: adafactor with fsdp raises"),
      on_7b({"--train", "--gpus", "2", "--strategy", "fsdp-accelerate", "--lora", "8"},
            "lora: with fsdp-accelerate is not predicted"),
      on_7b({"--train", "--gpus", "2", "--strategy", "fsdp", "--checkpoint", "reentrant"},
            "checkpoint: fsdp needs full"),
      on_7b({"--train", "--gpus", "2", "--strategy", "fsdp", "--lora", "8", "--quant", "int8"},
            "quant: fully_shard raises where weights are integers"),
      on_7b({"--train", "--gpus", "2", "--strategy", "fsdp", "--lora", "8", "--quant", "nf4",
             "--quant-storage", "bf16", "--mixed-precision", "bf16"},
            "mixed-precision: beside quantised weights"),
      on_7b({"--train", "--gpus", "2", "--strategy", "fsdp", "--bucket-view"}, "bucket-view: only"),
      on_7b({"--train", "--gpus", "2", "--bucket-cap-mb", "0"}, "bucket-cap-mb: 0; 1 or more"),
      on_7b({"--train", "--gpus", "2", "--mixed-precision", "bf16"}, "mixed-precision: only with"),
      on_7b({"--train", "--bucket-view"}, "bucket-view: only with --gpus 2 or more"),
      on_7b({"--train", "--gpus", "2", "--strategy", "fsdp", "--reduce-dtype", "fp32"},
            "reduce-dtype: only with --mixed-precision"),
      on_7b({"--train", "--gpus", "2", "--strategy", "fsdp", "--mixed-precision", "int8"},
            "mixed-precision: unknown 'int8'"),
      on_7b({"--train", "--gpus", "2", "--strategy", "fsdp", "--reshard-after-forward", "no"},
            "reshard-after-forward: is 'no'; true or false"),
      on_7b({"--gpus", "2", "--strategy", "fsdp"},
            "strategy: 'fsdp' in inference is not predicted"),
      on_7b({"--gpus", "2", "--device-map", "cuda"}, "device-map: cuda is one GPU"),
      on_7b({"--gpus", "99"}, "gpus: 99 in inference; at most 16"),
      on_7b({"--precision", "fp64"}, "precision: fp64"),
      on_7b({"--attention", "paged"}, "attention"),
      on_7b({"--gpu", "voodoo2"}, "gpu: unknown 'voodoo2'; one of those that vramfit --list shows"),
      on_7b({"--vram", "24X"}, "vram: is '24X'; a size such as 24GB"),
      on_7b({"--vram", "-24GB"}, "vram"),
      on_7b({"--vram", "0"}, "vram: is 0"),
      on_7b({"--vram=0"}, "vram: is 0; the size of a GPU such as 24GiB"),
      on_7b({"--vram", "0.0GB"}, "vram: is 0"),
      on_7b({"--vram", "1e400"}, "vram: is '1e400'; a size such as 24GB"),
      on_7b({"--vram", "NaN"}, "vram: is 'NaN'; a size such as 24GB"),
      on_7b({"--vram", "inf"}, "vram: is 'inf'; a size such as 24GB"),
      on_7b({"--vram=24GB", "--headroom=-1GB"}, "headroom: is '-1GB'; a size such as 24GB"),
      on_7b({"--vram", "99999999TB"}, "vram"),
      on_7b({"--headroom", "some", "--vram", "24GB"}, "headroom"),
      on_7b({"--runtime", "jax"}, "runtime: unknown 'jax'"),
      {{"--model", "gpt2-124m", "--seq", "1025"}, "seq: 1025"},
      {{"--model", "gpt2-124m", "--generate", "1025"}, "generate: leaves no room for a prompt"},
      {{"--model", "gpt2-124m", "--seq", "1000", "--generate", "26"},
       "generate: a prompt of 1000 and 26"},
      {{"--model", "gpt2-124m", "--generate", "2000", "--max-seq"}, "generate"},
      {{"--model", "mistral-7b", "--seq", "5000", "--runtime", "vramfit"}, "seq"},
  };
  for (const Case& c : cases) expect_refused(c);
}

TEST(FitRefuses, Contradictions) {
  const std::vector<Case> cases = {
      on_7b({"--config", "x"}, "--model and --config"),
      on_7b({"--params", "7B"}, "--model and --params"),
      {{"--config", "x", "--params", "7B"}, "--config and --params"},
      on_7b({"--hidden", "4096"}, "hidden: only with --params"),
      on_7b({"--layers", "32"}, "layers: only with --params"),
      on_7b({"--optimizer", "adamw"}, "optimizer: only with --train"),
      on_7b({"--accumulate", "2"}, "accumulate: only with --train"),
      on_7b({"--train", "--generate", "2"}, "generate: only with inference"),
      on_7b({"--autocast", "bf16"}, "autocast: only with --train"),
      on_7b({"--checkpoint", "full"}, "checkpoint: only with --train"),
      on_7b({"--lora", "8"}, "lora: only with --train"),
      on_7b({"--train", "--lora-targets", "q_proj"}, "lora-targets: only with --lora"),
      on_7b({"--train", "--padded"}, "padded: only with inference"),
      in_vramfit({"--train", "--lora", "0"}, "lora: is 0"),
      in_vramfit({"--train", "--lora-targets", "q_proj"}, "lora-targets: only with --lora"),
      in_vramfit({"--train", "--lora", "8", "--lora-targets", "c_attn"},
                 "lora-targets: llama has no 'c_attn'; of q_proj, k_proj"),
      in_vramfit({"--train", "--lora", "8", "--lora-targets", "q_proj,q_proj"},
                 "lora-targets: q_proj is there twice"),
      on_7b({"--train", "--lora", "8", "--lora-targets", "v_proj,q_proj,v_proj"},
            "lora-targets: v_proj is there twice"),
      in_vramfit({"--train", "--precision", "nf4"},
                 "precision: nf4 weights are not trained; --lora 16 trains adapters"),
      in_vramfit({"--train", "--checkpoint-every", "2"},
                 "checkpoint-every: only with --checkpoint"),
      in_vramfit({"--train", "--checkpoint", "some"},
                 "checkpoint: is 'some'; none, selective or full"),
      in_vramfit({"--train", "--checkpoint", "full", "--checkpoint-every", "0"},
                 "checkpoint-every: is 0; a whole number from 1"),
      in_vramfit({"--padded"}, "padded: only under --runtime pytorch"),
      on_7b({"--max-batch", "--batch", "2"}, "--max-batch and --batch"),
      on_7b({"--max-seq", "--seq", "2"}, "--max-seq and --seq"),
      on_7b({"--max-seq", "--max-batch"}, "--max-batch and --max-seq"),
      on_7b({"--list"}, "--list"),
      on_7b({"--gpux", "h200"}, "--gpux"),
      on_7b({"--gpu", "h200", "h100"}, "'h100' belongs to no flag"),
      on_7b({"--batch", "1", "--batch", "2"}, "--batch"),
      on_7b({"--train=maybe"}, "train"),
  };
  for (const Case& c : cases) expect_refused(c);
}

/// What flags may be given that no terminal should see, and no message be long for.
const std::vector<std::string>& hostile_texts() {
  static const std::vector<std::string> texts = {"a\nb\x1b[31m",
                                                 "\xff\xfe\x80",
                                                 "\xc3",
                                                 "\xe2\x80\xae"
                                                 "gnp",
                                                 std::string(100'000, 'x'),
                                                 "%n%s%p",
                                                 "' OR",
                                                 std::string(50'000, '\xf0')};
  return texts;
}

TEST(FitRefuses, HostileTextInEveryFlagInOneLine) {
  for (const std::string& text : hostile_texts()) {
    for (const char* flag : {"--precision", "--batch", "--seq", "--generate", "--attention",
                             "--gpu", "--vram", "--headroom", "--runtime", "--train="}) {
      const std::string name = flag;
      if (name.back() == '=') {
        expect_refused(on_7b({name + text}, ""));
      } else {
        expect_refused(on_7b({name, text}, ""));
      }
    }
    for (const char* flag : {"--optimizer", "--accumulate", "--checkpoint", "--lora"}) {
      expect_refused(on_7b({"--train", flag, text}, ""));
    }
    expect_refused(on_7b({"--train", "--precision", "fp32", "--autocast", text}, "autocast: "));
    expect_refused(on_7b({"--train", "--lora", "8", "--lora-targets", text}, "lora-targets: "));
    for (const char* flag : {"--model", "--config", "--params"}) expect_refused({{flag, text}, ""});
    for (const char* flag : {"--hidden", "--layers"}) {
      expect_refused({{"--params", "7B", flag, text}, ""});
    }
    expect_refused(on_7b({"--" + text}, ""));
    expect_refused(on_7b({text}, ""));
  }
}

TEST(FitRefuses, ToBreakItsOneLine) {
  const std::vector<Case> cases = {
      {{"--model", "a\nb\x1b[31m"}, "model: unknown 'a?b?[31m'"},
      {{"--config", "/no/such\nfile"}, "config: cannot read '/no/such?file'"},
  };
  for (const Case& c : cases) {
    expect_refused(c);
    expect_refused(c, run_fit(c.arguments));
  }
}

/// A folder with what is no config.
class FitRefusesFiles : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    return folder_.write(name, text);
  }

  const ScratchFolder folder_;
};

TEST_F(FitRefusesFiles, APipeThatNobodyWritesInto) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_refused({{"--config", pipe}, "nobody writes into it"});
}

TEST_F(FitRefusesFiles, OutOfRangeOrBrokenText) {
  expect_refused({{"--config", write("a.json", R"({"hidden_size": 1e400})")},
                  "/a.json: a number is out of range"});
  expect_refused({{"--config", write("b.json", "{\"a\": \"\xff\"}")}, "/b.json: not valid JSON"});
  expect_refused({{"--config", write("c\x1b[31m\xff/c.json", "{}")},
                  "c?[31m?/c.json: model_type: missing; one of llama"});
  expect_refused({{"--config", write(std::string(200, 'd') + "/" + std::string(200, 'e'), "{}")},
                  ": model_type: missing; one of"});
  expect_refused({{"--config", write("f.json", "{\"" + std::string(9999, 'f') + "_experts\": 1}")},
                  "a mixture of experts, whose type has no tape; vramfit model runs it"});
}

TEST_F(FitRefusesFiles, ATypeInWhichNothingRunsUnlessAnotherIsAskedFor) {
  const std::string path = write("config.json", R"({
      "model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
      "intermediate_size": 128, "vocab_size": 1000, "torch_dtype": "float8_e4m3fn"})");
  expect_refused({{"--config", path}, "precision: the config says 'float8_e4m3fn'"});
  EXPECT_EQ(run_fit({"--config", path, "--precision", "fp32", "--gpu", "h200"}).status, 0);
  EXPECT_EQ(run_fit({"--config", path, "--runtime", "article", "--gpu", "h200"}).status, 0);
}

TEST_F(FitRefusesFiles, ADamagedCatalogueWhichItNames) {
  write("gpus.json", "{,}");
  std::filesystem::copy(std::string(FIT_DATA_FOLDER) + "/releases.json", folder_.path());
  const Outcome outcome = run_fit({"--params", "7B"}, {"VRAMFIT_DATA=" + folder_.path().string()});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(
      outcome.err,
      "vramfit: error: gpus.json: not valid JSON at byte 2; the catalogue of cards is expected\n");
}

}  // namespace
}  // namespace vramfit::fit
