#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "bench/families/chain_text.h"
#include "bench/families/trained_loss.h"
#include "tests/bench/run_bench.h"
#include "tests/support/scratch_folder.h"

namespace vramfit::bench {
namespace {

using Json = nlohmann::json;

TEST(ChainText, IsTheSameForANumberAndAnotherForEach) {
  const ChainText text(16);
  EXPECT_EQ(text.sequence(3, 40), ChainText(16).sequence(3, 40));
  EXPECT_NE(text.sequence(3, 40), text.sequence(4, 40));
  for (const std::int32_t token : text.sequence(5, 1000)) {
    EXPECT_GE(token, 0);
    EXPECT_LT(token, 16);
  }
}

/// Mean −log p of a text's tokens by how often each came behind the same `seen` tokens.
double entropy(const std::vector<std::int32_t>& tokens, std::size_t seen, std::int32_t vocab) {
  std::map<std::vector<std::int32_t>, std::vector<double>> counts;
  for (std::size_t i = seen; i < tokens.size(); ++i) {
    const auto end = tokens.begin() + static_cast<std::ptrdiff_t>(i);
    auto& behind = counts[{end - static_cast<std::ptrdiff_t>(seen), end}];
    behind.resize(static_cast<std::size_t>(vocab));
    behind[static_cast<std::size_t>(tokens[i])] += 1;
  }
  double sum = 0;
  for (const auto& [context, behind] : counts) {
    double all = 0;
    for (const double count : behind) all += count;
    for (const double count : behind) sum -= count > 0 ? count * std::log(count / all) : 0;
  }
  return sum / static_cast<double>(tokens.size() - seen);
}

TEST(ChainText, OneTokenTellsSomethingAndTwoTellMore) {
  constexpr std::int32_t kVocab = 8;
  const std::vector<std::int32_t> tokens = ChainText(kVocab).sequence(0, 100'000);
  const double none = entropy(tokens, 0, kVocab);
  const double one = entropy(tokens, 1, kVocab);
  const double two = entropy(tokens, 2, kVocab);
  EXPECT_LT(one, none - 0.1);
  EXPECT_LT(two, one - 0.1);
  EXPECT_NEAR(entropy(tokens, 3, kVocab), two, 0.03) << "a third adds nothing";
}

TEST(Rounding, WhatWasTrainedIsLearntAndFewerBitsMoveItMore) {
  const auto cpu = make_cpu({});
  const auto losses_in = [&](const char* precision) {
    GenerationOptions options;
    options.precision = parse_model_precision(precision);
    return trained_losses(*cpu, kUnlimitedBytes, options);
  };
  const TrainedLosses bf16 = losses_in("bf16");
  const TrainedLosses nf4 = losses_in("nf4");
  EXPECT_EQ(nf4.in_fp32, bf16.in_fp32) << "trained alike";
  EXPECT_LT(bf16.in_fp32, std::log(16.0) - 0.3);
  EXPECT_NEAR(bf16.loss, bf16.in_fp32, 0.01);
  EXPECT_NEAR(nf4.loss, nf4.in_fp32, 0.1);
  EXPECT_GT(std::abs(nf4.loss - nf4.in_fp32), std::abs(bf16.loss - bf16.in_fp32));
}

/// A llama of sizes that every format goes with, by its config.json.
Json report_of_small_llama(const std::string& speed_seconds) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder / "small");
  const std::filesystem::path config = folder / "small" / "config.json";
  Json json = Json::parse(std::ifstream(VRAMFIT_FIXTURES "/tiny-llama/config.json"));
  json["hidden_size"] = 128;
  json["num_attention_heads"] = 2;
  json["num_key_value_heads"] = 2;
  json["head_dim"] = 64;
  json["intermediate_size"] = 128;
  std::ofstream(config) << json;
  return report_of("--device=cpu --config='" + config.string() +
                   "' --precision=fp32,bf16,fp8,int8,int8-wo,nf4,int4 --batch=2 --seq=16 "
                   "--benchmark_filter=Inference --speed-seconds=" +
                   speed_seconds);
}

TEST(Rounding, EveryPrecisionSaysWhatItCosts) {
  const Json report = report_of_small_llama("0.001");
  const auto error = [&](const std::string& precision) {
    return row_of(report, "Inference/small/" + precision + "/batch:2/seq:16")
        .at("logits_error")
        .get<double>();
  };
  EXPECT_LT(error("bf16"), 0.02);
  EXPECT_LT(error("bf16"), error("int8"));
  EXPECT_LE(error("int8-wo"), error("int8"));
  EXPECT_LT(error("int8"), error("fp8"));
  EXPECT_LT(error("fp8"), error("nf4"));
  EXPECT_LT(error("nf4"), error("int4"));
  EXPECT_LT(error("int4"), 0.5);
  for (const Json& row : report.at("benchmarks")) {
    const bool exact = row.at("name").get<std::string>().find("/fp32/") != std::string::npos;
    for (const char* counter : {"logits_error", "trained_loss", "trained_loss_fp32"}) {
      EXPECT_EQ(row.count(counter), exact ? 0U : 1U) << row.at("name") << " " << counter;
    }
    EXPECT_EQ(row.at("mem_allocated"), row.at("pred_allocated")) << row.at("name");
  }
}

TEST(Rounding, IsLeftOutWhereNoTimeIsToBeSpent) {
  for (const Json& row : report_of_small_llama("0").at("benchmarks")) {
    EXPECT_EQ(row.count("logits_error"), 0U);
    EXPECT_EQ(row.count("trained_loss"), 0U);
  }
}

}  // namespace
}  // namespace vramfit::bench
