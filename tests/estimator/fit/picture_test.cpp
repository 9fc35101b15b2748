#include "estimator/fit/picture.h"

#include <gtest/gtest.h>

#include <sstream>

#include "estimator/fit/card_table.h"
#include "estimator/fit/terminal.h"
#include "estimator/fit/text.h"
#include "model/quantity.h"

namespace vramfit::fit {
namespace {

FitOptions pictured(const char* model) {
  FitOptions options;
  options.model = model;
  options.gpu = "h200";
  return options;
}

FitOptions pictured_by_vramfit(const char* model) {
  FitOptions options = pictured(model);
  options.runtime = "vramfit";
  return options;
}

std::string picture_of(const FitOptions& options, const Style& style = {}) {
  const Question question = resolve_question(options, {});
  return picture(question, answer(question).front(), style);
}

void expect_no_long_line(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), columns()) << line;
    EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
  }
}

void expect_parts(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in:\n" << text;
  }
}

TEST(Picture, OfTrainingInPytorchHasEveryPart) {
  FitOptions options = pictured("llama2-7b");
  options.train = true;
  options.flags["precision"] = "fp32";
  options.flags["autocast"] = "bf16";
  options.flags["checkpoint"] = "full";
  options.flags["lora"] = "16";
  options.flags["accumulate"] = "4";
  options.flags["batch"] = "4";
  options.flags["seq"] = "512";
  const std::string text = picture_of(options, {.verbose = true});
  expect_parts(text, {"training in fp32 under bf16 autocast with adamw-fused, batch 4 x 512 tokens",
                      "4 micro-batches a step", "activation checkpointing", "LoRA of rank 16",
                      "The peak, in backward", "parameters", "allocated", "reserved", "+ overhead",
                      "= total", "FITS: ", "every later step", "note: stages show 3 of 4",
                      "runs with: adamw-fused, transformers' default; adapters, their",
                      "overhead: measured", "runtime: PyTorch 2.11"});
  EXPECT_EQ(text.find("kv cache"), std::string::npos);
  expect_no_long_line(text);
}

TEST(Picture, OfInferenceInPytorchHasACacheAndItsStages) {
  FitOptions options = pictured("gpt2-124m");
  options.flags["generate"] = "3";
  options.flags["seq"] = "100";
  options.flags["batch"] = "2";
  const std::string text = picture_of(options, {.verbose = true});
  expect_parts(text, {"inference in bf16, batch 2 x 100 tokens, padded, 3 new tokens", "kv cache",
                      "prefill", "decode"});
  expect_no_long_line(text);
}

TEST(Picture, OfTrainingHasEveryPart) {
  FitOptions options = pictured_by_vramfit("llama2-7b");
  options.train = true;
  options.flags["precision"] = "fp16";
  options.flags["batch"] = "4";
  options.flags["seq"] = "512";
  const std::string text = picture_of(options, {.verbose = true});
  expect_parts(text,
               {"llama2-7b: 6,738,415,616 parameters",
                "training in fp16 with adamw, batch 4 x 512 tokens, flash attention",
                "on h200: NVIDIA H200, sm_90", "The peak, in backward of step 2",
                "parameters           13.48     2.00   ######", "optimizer state", "allocated",
                "reserved", "+ overhead", "= total", "VRAM                150.75",
                "FITS: ", "140.40 GiB", "step 1, GB", "zero_grad", "every later step",
                "overhead: measured", "runtime: vramfit", "PyTorch needs more"});
  EXPECT_EQ(text.find("kv cache"), std::string::npos);
  expect_no_long_line(text);
}

TEST(Picture, OfWhatDoesNotFitSaysWhere) {
  FitOptions options = pictured("llama2-7b");
  options.train = true;
  options.gpu = "rtx4090";
  options.headroom = "1GB";
  const std::string text = picture_of(options);
  expect_parts(text,
               {"OOM: ", " more than ", "less the headroom", "+ headroom", "it would run out in",
                ", allocating ",
                "driver and context overhead: the NVIDIA H200's, assumed; yours may take up to"});
  expect_no_long_line(text);
}

TEST(Picture, OfInferenceHasACacheAndItsStages) {
  FitOptions options = pictured_by_vramfit("gpt2-124m");
  options.flags["generate"] = "3";
  options.flags["seq"] = "100";
  const std::string text = picture_of(options, {.verbose = true});
  expect_parts(text, {"inference in bf16, batch 1 x 100 tokens, 3 new tokens", "kv cache",
                      "prefill", "decode 2"});
  EXPECT_EQ(text.find("gradients"), std::string::npos);
  expect_no_long_line(text);
}

TEST(Picture, OfASearchNamesWhatItFound) {
  FitOptions options = pictured("gpt2-1.5b");
  options.train = true;
  options.searches = {"batch"};
  expect_parts(picture_of(options), {"largest batch: ", " is not)"});
  options.searches = {"seq"};
  expect_parts(picture_of(options), {"largest sequence: 1024 (larger ones are refused)"});
  options.gpu = std::nullopt;
  options.vram = "2GB";
  expect_parts(picture_of(options), {"largest sequence: 0 (sequence 1 is shown)", "OOM"});
}

TEST(Picture, AssumptionsAreSaid) {
  FitOptions options;
  options.params = "7B";
  options.vram = "24GB";
  expect_parts(picture_of(options), {"llama-shaped", "note: shape assumed", "note: sm_89 assumed"});
}

TEST(Picture, HoldsItsColumnsWhateverTheSizes) {
  for (const char* model : {"gpt2-124m", "llama2-7b", "llama3-70b"}) {
    for (const char* batch : {"1", "100", "10000"}) {
      for (const char* vram : {"1GB", "150GB", "1048576TiB"}) {
        FitOptions options = pictured(model);
        options.flags["batch"] = batch;
        options.vram = vram;
        options.train = true;
        expect_no_long_line(picture_of(options));
      }
    }
  }
}

TEST(Picture, IsShortUnlessMoreIsAskedFor) {
  FitOptions options = pictured("llama2-7b");
  options.train = true;
  const std::string text = picture_of(options);
  EXPECT_EQ(text.find("every later step"), std::string::npos);
  EXPECT_EQ(text.find("--runtime"), std::string::npos);
  expect_parts(text, {"runs with: ", "rests on: PyTorch 2.11 and transformers 5.17, eager mode",
                      "driver and context overhead: measured on one H200"});
}

TEST(Picture, TightIsWhereFiguresMayBeOffByMore) {
  FitOptions options = pictured("llama3-8b");
  options.gpu = "rtx4090";
  options.flags["batch"] = "3";
  options.flags["seq"] = "8192";
  expect_parts(picture_of(options), {"TIGHT: ", "; figures may be off by "});
  options.flags["seq"] = "1024";
  expect_parts(picture_of(options), {"FITS: "});
  options.flags["batch"] = "30";
  options.flags["seq"] = "8192";
  expect_parts(picture_of(options), {"OOM: "});
}

TEST(Picture, SaysWhichChoiceChangesTheVerdict) {
  FitOptions options = pictured("llama2-7b");
  options.gpu = "h100-80gb";
  options.train = true;
  options.flags["precision"] = "bf16";
  options.flags["seq"] = "512";
  expect_parts(picture_of(options),
               {"FITS: ", "note: with fp32 weights under --autocast bf16 it would be OOM"});
  options.flags["precision"] = "fp32";
  options.flags["autocast"] = "bf16";
  expect_parts(picture_of(options),
               {"OOM: ", "note: with --precision bf16 without autocast it would be FITS"});
  FitOptions bare = pictured("llama3-8b");
  bare.gpu = std::nullopt;
  bare.vram = "18";
  expect_parts(picture_of(bare),
               {"note: --vram 18 is taken as 18 GB of 1e9 bytes", "18.00 GB (16.76 GiB)",
                "note: with --vram 18GiB it would be FITS"});
}

TEST(Picture, SetsFormulasBesideTheAnswer) {
  FitOptions options = pictured("llama2-7b");
  options.train = true;
  options.formulas = true;
  options.flags["seq"] = "512";
  options.flags["batch"] = "4";
  const std::string text = picture_of(options);
  expect_parts(text, {"what others would say", "this answer, overhead included",
                      "the article         will_it_fit                         114.26   FITS",
                      "DeepSpeed           18 B/param                          121.29   FITS",
                      "accelerate          4 x model; model                     53.91   FITS",
                      "Korthikanti et al.  18 B/param + L*sbh(34 + 5as/h)      135.79   FITS"});
  expect_no_long_line(text);
  options.flags["lora"] = "8";
  expect_parts(picture_of(options), {"-   does not speak of such a run"});
}

TEST(Picture, FormulasKnowWeightsInFewBits) {
  const auto picture = [](const char* flag, const char* format) {
    FitOptions options = pictured("llama2-7b");
    options.formulas = true;
    options.runtime = std::string(flag) == "quant" ? "pytorch" : "vramfit";
    options.flags[flag] = format;
    return picture_of(options);
  };
  for (const char* flag : {"quant", "precision"}) {
    expect_parts(picture(flag, "int8"),
                 {"accelerate          4 x model; model                      6.74"});
    expect_parts(picture(flag, "nf4"),
                 {"accelerate          4 x model; model                      3.37"});
  }
}

TEST(Picture, HasColoursWhereTheyShow) {
  const FitOptions options = pictured("llama2-7b");
  EXPECT_EQ(picture_of(options).find('\x1b'), std::string::npos);
  expect_parts(picture_of(options, {.colours = true}), {"\x1b[1;32mFITS\x1b[0m: "});
}

TEST(Picture, OfALongSequenceStopsWhereTheModelDoes) {
  FitOptions options = pictured("llama3-8b");
  options.searches = {"seq"};
  expect_parts(picture_of(options),
               {": 8192 (its config's max_position_embeddings", "--beyond-positions"});
  options.beyond_positions = true;
  const std::string text = picture_of(options);
  EXPECT_EQ(text.find("fits: 8192 "), std::string::npos) << text;
  expect_parts(text, {"tokens are more than its config's max_position_embeddings, 8192"});
}

TEST(CardTable, HasALineForEachCard) {
  FitOptions options = pictured("llama2-7b");
  options.gpu = std::nullopt;
  options.train = true;
  options.searches = {"batch"};
  const Question question = resolve_question(options, {});
  const std::string text = card_table(question, answer(question), {.verbose = true});
  for (const Card& card : cards()) {
    EXPECT_NE(text.find("\n  " + card.name), std::string::npos) << text;
  }
  expect_parts(text, {"the largest batch x 2048 tokens", "surely fits", "may fit",
                      "overhead on h200: measured", "assumed: as measured", "runtime: PyTorch"});
  expect_no_long_line(text);
}

TEST(Text, GroupsDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-100), "-100");
  EXPECT_EQ(grouped(-1000), "-1,000");
  EXPECT_EQ(grouped(6'738'415'616), "6,738,415,616");
}

TEST(Text, SmallIsNotNothing) {
  EXPECT_EQ(gb(0), "0.00");
  EXPECT_EQ(gb(1), "<0.01");
  EXPECT_EQ(gb(5'000'000), "0.01");
  EXPECT_EQ(gb(400'000, 3), "<0.001");
  EXPECT_EQ(gb(25'757'220'864), "25.76");
}

TEST(Text, WrapsAtWords) {
  EXPECT_EQ(wrapped("short", 2), "short\n");
  const std::string line(60, 'a');
  EXPECT_EQ(wrapped(line + " " + line, 3), line + "\n   " + line + "\n");
  EXPECT_EQ(wrapped(std::string(150, 'b'), 2), std::string(150, 'b') + "\n");
}

}  // namespace
}  // namespace vramfit::fit
