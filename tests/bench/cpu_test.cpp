#include <gtest/gtest.h>

#include "model/memory/category.h"
#include "tests/bench/run_bench.h"

namespace vramfit::bench {
namespace {

using Json = nlohmann::json;

Json report_of_tiny(const std::string& model, const std::string& filter,
                    const std::string& speed_seconds = "0") {
  return report_of(
      "--device=cpu --config='" VRAMFIT_FIXTURES "/" + model +
      "/config.json' --precision=fp32,bf16 --batch=2 --seq=16 --attention=flash,cublas "
      "--speed-seconds=" +
      speed_seconds +
      " "
      "--benchmark_filter=" +
      filter);
}

TEST(Cpu, WhatIsMeasuredIsWhatWasPredicted) {
  const Json report = report_of_tiny("tiny-gpt2", "'-^(Article|Estimate|Ops)/'");
  EXPECT_EQ(report.at("context").at("device"), "cpu");
  EXPECT_EQ(report.at("context").at("evidence"), "measured");
  int training = 0;
  for (const Json& row : report.at("benchmarks")) {
    const std::string name = row.at("name");
    training += name.rfind("Training", 0) == 0 ? 1 : 0;
    int compared = 0;
    for (const auto& item : row.items()) {
      if (item.key().rfind("mem_", 0) != 0) continue;
      EXPECT_EQ(item.value(), row.at("pred_" + item.key().substr(4))) << name << " " << item.key();
      ++compared;
    }
    EXPECT_GE(compared, 2 + static_cast<int>(kCategories) + 2) << name;
    EXPECT_EQ(row.at("ledger_equal"), 1) << name;
    EXPECT_EQ(row.count("pred_device_used"), 0U) << name;  // there is no card
    EXPECT_EQ(row.at("label").get<std::string>().find("measured, cpu; peak in "), 0U) << name;
  }
  EXPECT_EQ(training, (8 + 10) * 2);  // fp32 has no -master optimizers
}

TEST(Cpu, SpeedIsMeasured) {
  const Json report = report_of_tiny("tiny-llama", "'adamw/|Inference' --generate=1,4", "0.01");
  const Json& step = row_of(report, "Training/tiny-llama/fp32/adamw/batch:2/seq:16");
  EXPECT_GT(step.at("tokens_per_second"), 0.0);
  EXPECT_GT(step.at("flops_per_second"), step.at("tokens_per_second"));
  EXPECT_EQ(step.count("decode_tokens_per_second"), 0U);
  const Json& prompt = row_of(report, "Inference/tiny-llama/fp32/batch:2/seq:16");
  for (const char* counter :
       {"prefill_tokens_per_second", "decode_tokens_per_second", "flops_per_second"}) {
    EXPECT_GT(prompt.at(counter), 0.0) << counter;
  }
  const Json& more = row_of(report, "Inference/tiny-llama/fp32/batch:2/seq:16/generate:4");
  EXPECT_GT(more.at("decode_tokens_per_second"), 0.0);
  // The runs for speed add figures of time alone.
  EXPECT_EQ(more.at("mem_allocated"), more.at("pred_allocated"));
}

TEST(Cpu, HasNoCliff) {
  const std::string config = "--config='" VRAMFIT_FIXTURES "/tiny-gpt2/config.json' --seq=16 ";
  EXPECT_EQ(run_bench("--device=cpu " + config + "--benchmark_filter=OomCliff").exit, 2);
}

TEST(Cpu, SpeedIsLeftOutWhereNoTimeIsToBeSpent) {
  const Json report = report_of_tiny("tiny-llama", "'adamw/|Inference'");
  for (const Json& row : report.at("benchmarks")) {
    for (const auto& item : row.items()) {
      EXPECT_EQ(item.key().find("per_second"), std::string::npos) << item.key();
    }
  }
}

TEST(Cpu, RefusesModelsBeyondAnOracle) {
  const Ended ended = run_bench("--device=cpu --benchmark_filter=Inference");
  EXPECT_EQ(ended.exit, 2);
  EXPECT_NE(ended.err.find("6738415616 parameters"), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace vramfit::bench
