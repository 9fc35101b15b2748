#include <gtest/gtest.h>

#include "estimator/card_names.h"
#include "estimator/cards.h"
#include "estimator/models.h"
#include "estimator/steady_run.h"
#include "model/memory/category.h"
#include "tests/bench/run_bench.h"
#include "tests/support/workloads.h"

namespace vramfit::bench {
namespace {

using Json = nlohmann::json;

constexpr const char* kWaterfall = "Training/llama2-7b/fp16/adamw/batch:4/seq:512";

std::uint64_t bytes(const Json& row, const std::string& counter) {
  return static_cast<std::uint64_t>(row.at(counter).get<double>());
}

/// All memory rows of the default sweep.
const Json& whole_sweep() {
  static const Json report =
      report_of("--device=virtual:h200 '--benchmark_filter=-^(Article|Estimate)/'");
  return report;
}

/// A report of that row alone.
Json report_of_row(const std::string& name) {
  return report_of("--device=virtual:h200 --benchmark_filter='^" + name + "$'");
}

TEST(Report, EveryRowHasTheCountersOfAMemoryRow) {
  ASSERT_EQ(whole_sweep().at("benchmarks").size(), 467U);
  for (const Json& row : whole_sweep().at("benchmarks")) {
    const std::string name = row.at("name");
    EXPECT_EQ(row.at("run_name"), name);
    EXPECT_EQ(row.at("iterations"), 1) << name;
    std::uint64_t sum = 0;
    for (const char* category : kCategoryNames) sum += bytes(row, std::string("pred_") + category);
    EXPECT_EQ(sum, bytes(row, "pred_allocated")) << name;
    EXPECT_GE(bytes(row, "pred_reserved"), bytes(row, "pred_allocated")) << name;
    EXPECT_GT(bytes(row, "pred_device_used"), bytes(row, "pred_reserved")) << name;
    EXPECT_LE(bytes(row, "params"), bytes(row, "params_stored")) << name;
    EXPECT_TRUE(row.at("oom") == 0 || row.at("oom") == 1) << name;
    EXPECT_EQ(row.at("label").get<std::string>().find("predicted, virtual:"), 0U) << name;
    for (const auto& item : row.items()) EXPECT_NE(item.key().rfind("mem_", 0), 0U) << item.key();
  }
}

TEST(Report, StagesOfBothStepsLeadToThePeak) {
  for (const Json& row : whole_sweep().at("benchmarks")) {
    std::uint64_t peak = 0;
    for (const auto& item : row.items()) {
      const std::string& key = item.key();
      if (key.rfind("pred_step", 0) != 0 || key.find("_peak") == std::string::npos) continue;
      peak = std::max(peak, bytes(row, key));
    }
    EXPECT_EQ(peak, bytes(row, "pred_allocated")) << row.at("name");
  }
}

TEST(Report, CountersAreTheEstimators) {
  const Json report = report_of_row(kWaterfall);
  const Json& row = row_of(report, kWaterfall);
  TrainingOptions options;
  options.precision = DType::Fp16;
  options.batch = 4;
  options.seq = 512;
  const Card& card = card_named("h200");
  const RunReport run = steady_run({card.arch}, model_named("llama2-7b"), options);
  EXPECT_EQ(bytes(row, "pred_allocated"), run.peak.allocated);
  EXPECT_EQ(bytes(row, "pred_reserved"), run.reserved);
  EXPECT_EQ(bytes(row, "pred_device_used"),
            run.reserved + card.overhead.context + card.overhead.libraries);
  int compared = 0;
  for (const StageRecord& stage : run.stages) {
    if (stage.step == 0 || stage.step > 2) continue;
    const std::string key = "pred_step" + std::to_string(stage.step) + "_" + name(stage.stage);
    EXPECT_EQ(bytes(row, key + "_after"), stage.after) << key;
    EXPECT_EQ(bytes(row, key + "_peak"), stage.peak) << key;
    ++compared;
  }
  EXPECT_EQ(compared, 2 * 4);
  EXPECT_EQ(bytes(row, "pred_step1_loaded_after"), run.stages.front().after);
}

TEST(Report, TheWaterfallIsBesideTheArticles) {
  const Json report = report_of_row(kWaterfall);
  const Json& row = row_of(report, kWaterfall);
  EXPECT_EQ(bytes(row, "article_allocated"), 84'000'000'000U);
  EXPECT_EQ(bytes(row, "article_step1_forward_after"), 22'400'000'000U);
  EXPECT_EQ(bytes(row, "params"), 6'738'415'616U);
  // 12 B a parameter to the byte: parameters, gradients, and m and v in fp32.
  EXPECT_EQ(bytes(row, "pred_parameters") + bytes(row, "pred_gradients") +
                bytes(row, "pred_optimizer_state"),
            12U * 6'738'415'616U);
}

TEST(Report, TheArticlesCodeIsBesideEveryRowAndAnswersItsOwnTables) {
  // 16 B/param, and 12 activations of hidden a layer and token.
  const Json report = report_of_row(kWaterfall);
  EXPECT_EQ(bytes(row_of(report, kWaterfall), "article_formula"),
            16U * 6'738'415'616U + 12ULL * 4096U * 32U * 2U * 4U * 512U);
  const Json cache = report_of_row("KvCache/llama2-7b/fp16/batch:8/seq:2048");
  EXPECT_EQ(bytes(cache.at("benchmarks").at(0), "article_formula"),
            2U * 6'738'415'616U + 524'288ULL * 8U * 2048U);

  const Json article = report_of("--benchmark_filter=^Article/");
  EXPECT_EQ(article.at("benchmarks").size(), 12U);
  const Json& seven = row_of(article, "Article/will_it_fit/7B/fp16/adam/batch:4/seq:512");
  EXPECT_EQ(bytes(seven, "article_formula_optimizer_state"), 84'000'000'000U);
  const Json& share = row_of(article, "Article/estimate_multi_gpu_memory/13B/fsdp/gpus:4");
  EXPECT_EQ(bytes(share, "article_formula"), 52'000'000'000U);
}

TEST(Report, AccumulatedMicroBatchesAreOneStage) {
  const Json report = report_of(
      "--device=virtual:h200 --benchmark_filter=Training --model=tinyllama-1.1b --precision=bf16 "
      "--optimizer=sgd --batch=1,2 --seq=512 --attention=flash --accumulate=1,2");
  ASSERT_EQ(report.at("benchmarks").size(), 4U);
  const std::string one = "Training/tinyllama-1.1b/bf16/sgd/batch:1/seq:512";
  const Json& once = row_of(report, one);
  const Json& twice = row_of(report, one + "/accumulate:2");
  // The gradients of the first micro-batch are there throughout the second.
  EXPECT_GT(bytes(twice, "pred_step1_forward_peak"), bytes(once, "pred_step1_forward_peak"));
  EXPECT_EQ(bytes(twice, "pred_step1_backward_after"), bytes(once, "pred_step1_backward_after"));
}

TEST(Report, OutOfMemoryIsARowWithWhatItNeeds) {
  const std::string arguments =
      "--benchmark_filter=Training --model=llama2-7b --precision=fp16 --optimizer=adamw "
      "--batch=4 --seq=512 --attention=flash --device=";
  const Json report = report_of(arguments + "virtual:rtx4090,h200");
  const Json& small = row_of(report, std::string(kWaterfall) + "/gpu:rtx4090");
  const Json& large = row_of(report, std::string(kWaterfall) + "/gpu:h200");
  EXPECT_EQ(small.at("oom"), 1);
  EXPECT_EQ(large.at("oom"), 0);
  const std::string label = small.at("label");
  EXPECT_NE(label.find("out of memory in backward of step 1"), std::string::npos) << label;
  EXPECT_NE(label.find("overhead assumed"), std::string::npos) << label;
  // The other card's workspace is smaller; all else is needed as well.
  EXPECT_EQ(bytes(large, "pred_allocated") - bytes(small, "pred_allocated"), 28U << 20);
  EXPECT_EQ(report.at("context").at("device"), "virtual:rtx4090,h200");
}

TEST(Report, KvCacheIsTheArticlesBytesAToken) {
  const std::string name = "KvCache/llama2-7b/fp16/batch:8/seq:2048";
  const Json report = report_of_row(name);
  const Json& row = row_of(report, name);
  EXPECT_EQ(row.at("pred_kv_bytes_per_token"), 524288);
  EXPECT_EQ(bytes(row, "pred_kv_cache"), std::uint64_t{8} << 30);
  EXPECT_EQ(bytes(row, "article_kv_cache"), 8'200'000'000U);
}

TEST(Report, ContextSaysWhereFiguresAreFrom) {
  const Json report = report_of_row(kWaterfall);
  const Json& context = report.at("context");
  EXPECT_EQ(context.at("schema_version"), "1");
  EXPECT_EQ(context.at("device"), "virtual:h200");
  EXPECT_EQ(context.at("evidence"), "predicted");
  EXPECT_EQ(context.at("axes"),
            "model precision optimizer strategy batch: seq: gpus: attn: accumulate: lora: targets: "
            "generate: gpu: head: cache: block: lengths: checkpoint: every:");
  EXPECT_EQ(
      context.at("pytorch_optimizers"),
      "sgd: sgd, sgd-master: sgd under autocast, sgd-momentum: sgd-momentum, adamw: adamw, "
      "adamw-master: adamw-fused under autocast, adamw-same: adamw-fused, adamw-8bit: adamw-8bit, "
      "adafactor: adafactor");
  for (const char* key :
       {"gpu", "driver", "cuda", "cublas", "cudnn", "nccl", "cuda_module_loading"}) {
    EXPECT_EQ(context.at(key), "none") << key;
  }
  EXPECT_FALSE(context.at("commit").get<std::string>().empty());
  EXPECT_NE(context.at("overhead").get<std::string>().find("h200: measured"), std::string::npos);
}

// The variation of a counter that is always zero is 0/0.
TEST(Report, RepetitionsBringNoNan) {
  const Json report = report_of("--benchmark_filter=KvCache/mistral --benchmark_repetitions=3");
  const Json& row = row_of(report, "KvCache/mistral-7b/bf16/batch:1/seq:512_mean");
  EXPECT_EQ(row.at("oom"), 0);
  row_of(report, "KvCache/mistral-7b/bf16/batch:1/seq:512_cv");
}

TEST(Report, TheEstimatorsOwnLatencyIsTimed) {
  const Json report = report_of("--benchmark_filter=Estimate/.*7b --benchmark_min_time=0.01");
  EXPECT_EQ(report.at("benchmarks").size(), 4U);
  const Json& step = row_of(report, "Estimate/training/llama2-7b");
  const Json& run = row_of(report, "Estimate/training/llama2-7b/steps:2");
  EXPECT_EQ(step.at("time_unit"), "ms");
  EXPECT_GT(step.at("iterations"), 1);
  EXPECT_GT(step.at("real_time"), 0.0);
  EXPECT_GT(run.at("cpu_time"), step.at("cpu_time"));
  row_of(report, "Estimate/inference/llama2-7b");
  row_of(report, "Estimate/pytorch/training/llama2-7b");
}

}  // namespace
}  // namespace vramfit::bench
