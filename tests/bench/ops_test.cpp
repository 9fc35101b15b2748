#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "bench/families/op_times.h"
#include "bench/families/throughput.h"
#include "estimator/models.h"
#include "tests/bench/run_bench.h"
#include "tests/support/scratch_folder.h"

namespace vramfit::bench {
namespace {

using Json = nlohmann::json;

TEST(BoundSeconds, AreOfWhateverTakesLonger) {
  const Rates rates{1000, 8000};
  EXPECT_EQ(bound_seconds({"copy", "", 500, 0}, rates), 0.5);
  EXPECT_EQ(bound_seconds({"gemm", "", 500, 16000}, rates), 2);
  EXPECT_EQ(bound_seconds({"gemm", "", 3000, 16000}, rates), 3);
}

TEST(Totals, AddUpCallsOfOneLabelInOrderOfTheFirst) {
  const std::vector<OpCost> ops = {{"norm", "b.weight", 10, 0},
                                   {"gemm", "a.weight", 1, 40},
                                   {"norm", "a.weight", 20, 0},
                                   {"norm", "b.weight", 30, 500}};
  const std::vector<OpTotal> list = totals(ops, {1, 2, 4, 8}, {10, 10});
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].label, "norm:b");
  EXPECT_EQ(list[0].calls, 2);
  EXPECT_EQ(list[0].bytes, 40);
  EXPECT_EQ(list[0].flops, 500);
  EXPECT_EQ(list[0].bound_seconds, 1 + 50);  // each call's own
  EXPECT_EQ(list[0].seconds, 9);
  EXPECT_EQ(list[1].label, "gemm:a");
  EXPECT_EQ(list[1].seconds, 2);
  EXPECT_EQ(list[2].label, "norm:a");
  EXPECT_EQ(list[2].seconds, 4);
}

double flops_of_step(const ModelConfig& config, const TrainingOptions& options) {
  double flops = 0;
  for (const OpCost& op : step_ops(Arch{90}, config, options)) flops += op.flops;
  return flops;
}

// The formula counts six FLOPs for every weight, also for those of the norms, which no product has.
// It does not count that Flash computes the scores again: one causal product of L · h · S a token.
TEST(StepOps, HaveTheFlopsOfTheFormula) {
  const ModelConfig config = model_named("llama2-7b");
  const auto norms = static_cast<double>((2 * config.layers + 1) * config.hidden);
  TrainingOptions options;
  options.precision = DType::Bf16;
  options.batch = 4;
  options.seq = 2048;
  EXPECT_EQ(step_ops(Arch{90}, config, options).size(), 32U * (8 + 13) + 9);
  const double tokens = 4 * 2048;
  const double formula = training_flops_per_token(config, 2048) - 6 * norms;
  const auto scores = static_cast<double>(config.layers * config.hidden * 2048);
  EXPECT_DOUBLE_EQ(flops_of_step(config, options), tokens * (formula + scores));
  options.attention = AttentionForm::Cublas;
  EXPECT_DOUBLE_EQ(flops_of_step(config, options), tokens * formula);
  EXPECT_NEAR(flops_of_step(config, options) / (tokens * training_flops_per_token(config, 2048)), 1,
              1e-3);
}

std::string tiny(const std::string& model, const std::string& more) {
  return "--device=cpu --config='" VRAMFIT_FIXTURES "/" + model +
         "/config.json' --precision=bf16 --optimizer=adamw-master --batch=2 --seq=16 "
         "--speed-seconds=0.01 " +
         more;
}

std::string case_name(const std::string& model) {
  return "Ops/" + model + "/bf16/adamw-master/batch:2/seq:16/";
}

std::vector<std::string> listed(const std::string& arguments) {
  std::istringstream lines(run_bench(arguments + " --benchmark_list_tests").out);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) names.push_back(line);
  return names;
}

std::vector<std::string> rows_of_case(const std::string& model, std::vector<std::string> parts) {
  for (std::string& part : parts) part = case_name(model) + part;
  return parts;
}

TEST(Ops, HasARowForEveryOpOfTheStepAndOneForAll) {
  const auto llama = rows_of_case("tiny-llama", {"fill_normal",
                                                 "fill_tokens",
                                                 "embedding_forward",
                                                 "norm_forward:norm1",
                                                 "linear_forward:qkv",
                                                 "rotary_forward",
                                                 "attention_forward",
                                                 "linear_forward:out",
                                                 "norm_forward:norm2",
                                                 "mlp_up_forward",
                                                 "linear_forward:down",
                                                 "norm_forward:final_norm",
                                                 "head_loss",
                                                 "norm_backward:final_norm",
                                                 "linear_backward_input:down",
                                                 "activate_backward",
                                                 "linear_backward_weight:down",
                                                 "linear_backward_input:up",
                                                 "norm_backward:norm2",
                                                 "linear_backward_weight:up",
                                                 "linear_backward_input:out",
                                                 "linear_backward_weight:out",
                                                 "attention_backward",
                                                 "rotary_backward",
                                                 "linear_backward_input:qkv",
                                                 "norm_backward:norm1",
                                                 "linear_backward_weight:qkv",
                                                 "embedding_backward",
                                                 "optimizer_step",
                                                 "step"});
  EXPECT_EQ(listed(tiny("tiny-llama", "--benchmark_filter=Ops")), llama);
  auto gpt2 = rows_of_case("tiny-gpt2", {});
  for (std::string name : llama) {
    name.replace(0, case_name("tiny-llama").size(), case_name("tiny-gpt2"));
    if (name.find("rotary") == std::string::npos) gpt2.push_back(name);
  }
  EXPECT_EQ(listed(tiny("tiny-gpt2", "--benchmark_filter=Ops")), gpt2);
}

TEST(Ops, TheStepIsTheSumOfItsOps) {
  const Json report = report_of(tiny("tiny-llama", "--benchmark_filter=Ops --accumulate=3"));
  std::map<std::string, double> sums;
  for (const Json& row : report.at("benchmarks")) {
    EXPECT_EQ(row.at("label"), "measured, cpu");
    if (row.at("name").get<std::string>().ends_with("/step")) continue;
    EXPECT_EQ(row.count("tokens_per_second"), 0U);
    for (const char* counter : {"calls", "bytes", "flops", "bound_seconds", "seconds"}) {
      sums[counter] += row.at(counter).get<double>();
    }
  }
  const Json& step = report.at("benchmarks").back();
  for (const char* counter : {"calls", "bytes", "flops", "bound_seconds"}) {
    EXPECT_DOUBLE_EQ(step.at(counter), sums.at(counter)) << counter;
  }
  EXPECT_GT(step.at("issue_seconds"), 0.0);
  EXPECT_DOUBLE_EQ(step.at("ops_seconds"), sums.at("seconds"));
  EXPECT_DOUBLE_EQ(step.at("tokens_per_second").get<double>() * step.at("seconds").get<double>(),
                   3 * 2 * 16);
}

TEST(Ops, WhatDoesNotFitIsLeftOutWithTheReason) {
  const std::string small =
      "--device=cpu --vram=1MB --benchmark_filter='Ops|Training' --config='" VRAMFIT_FIXTURES
      "/tiny-llama/config.json' --precision=fp32 --optimizer=adamw --batch=2 "
      "--seq=16 --attention=flash --speed-seconds=0.01";
  const Ended ended = run_bench(small);
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_NE(ended.err.find("does not fit, so there is no step to time"), std::string::npos);
  EXPECT_EQ(ended.out.find("Ops/"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("Training/"), std::string::npos) << ended.out;
}

TEST(Ops, IsHeldAgainstTheRatesThatTheSameRunMeasured) {
  const Json report = report_of(tiny("tiny-gpt2", "--benchmark_filter=Ops"));
  const Json& step = report.at("benchmarks").back();
  const double bytes_per_second = step.at("bytes_per_second");
  const double flops_per_second = step.at("flops_per_second");
  EXPECT_GT(bytes_per_second, 0);
  EXPECT_GT(flops_per_second, 0);
  for (const Json& row : report.at("benchmarks")) {
    const double seconds = row.at("seconds");
    const double bound = row.at("bound_seconds");
    EXPECT_GT(seconds, 0);
    EXPECT_DOUBLE_EQ(row.at("of_bound"), bound / seconds);
    EXPECT_NEAR(row.at("real_time"), 1e3 * seconds, 1e-9);
    if (&row == &step) continue;  // the calls of all others cost the same each
    EXPECT_DOUBLE_EQ(bound, std::max(row.at("bytes").get<double>() / bytes_per_second,
                                     row.at("flops").get<double>() / flops_per_second))
        << row.at("name");
  }
}

TEST(Ops, CountsTheCallsOfAStep) {
  const Json report = report_of(tiny(
      "tiny-llama", "--accumulate=3 --benchmark_filter='Ops.*(norm1|step|head_loss|normal)$'"));
  std::map<std::string, int> calls;
  for (const Json& row : report.at("benchmarks")) {
    const std::string name = row.at("name");
    calls[name.substr(name.rfind('/') + 1)] = row.at("calls");
  }
  EXPECT_EQ(calls, (std::map<std::string, int>{{"fill_normal", 1},
                                               {"norm_forward:norm1", 2 * 3},
                                               {"head_loss", 3},
                                               {"norm_backward:norm1", 2 * 3},
                                               {"optimizer_step", 1},
                                               {"step", 3 * (2 * (8 + 13) + 7) + 2}}));
}

TEST(Ops, AFilterPicksSingleOpsOfOneRun) {
  const Ended ended = run_bench(
      tiny("tiny-llama",
           "--attention=flash --benchmark_filter='Training|/head_loss' --benchmark_format=json"));
  ASSERT_EQ(ended.exit, 0) << ended.err;
  const Json rows = Json::parse(ended.out).at("benchmarks");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].at("name"), case_name("tiny-llama") + "head_loss");
  EXPECT_EQ(count_of(ended.err, "bench: 2 of 2, "), 1) << ended.err;
}

TEST(Ops, WithoutTimeToSpendARowSaysThatNothingIsTimed) {
  const Ended ended = run_bench(tiny(
      "tiny-llama", "--speed-seconds=0 --benchmark_filter=Ops.*head_loss --benchmark_format=json"));
  EXPECT_EQ(ended.exit, 3);
  const Json row = Json::parse(ended.out).at("benchmarks").at(0);
  EXPECT_EQ(row.at("name"), case_name("tiny-llama") + "head_loss");
  EXPECT_EQ(row.at("error_message"), "nothing is timed with --speed-seconds=0");
  EXPECT_EQ(count_of(ended.err, "bench: error: 1 row failed"), 1) << ended.err;
}

TEST(Ops, RowsThatAFilterLeavesOutAreNotObjectedTo) {
  // Those of the sweep are far too large for plain loops.
  const Ended ended = run_bench("--device=cpu --benchmark_filter=Estimate --benchmark_list_tests");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  const Ended typed = run_bench(
      "--device=virtual:h200 --precision=fp32 --benchmark_filter=Inference --benchmark_list_tests");
  EXPECT_EQ(typed.err, "");
}

class OpsJournal : public testing::Test {
 protected:
  Ended run(const std::string& more) {
    return run_bench(
        tiny("tiny-gpt2", "--benchmark_format=json --journal='" + path_ + "' " + more));
  }

  const ScratchFolder folder_;
  const std::string path_ = folder_ / "journal";
};

TEST_F(OpsJournal, AllRowsOfACaseAreOneEntryWhicheverWereAskedFor) {
  ASSERT_EQ(run("--benchmark_filter=Ops.*head_loss").exit, 0);
  std::ifstream file(path_);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(file.peek(), std::ifstream::traits_type::eof());
  Json entry = Json::parse(line);
  EXPECT_EQ(entry.at("row").get<std::string>() + "/", case_name("tiny-gpt2"));
  entry["result"]["label"] = "from the journal";
  std::ofstream(path_) << entry.dump() << "\n";

  const Ended resumed = run("--resume --benchmark_filter=Ops");
  ASSERT_EQ(resumed.exit, 0) << resumed.err;
  const Json rows = Json::parse(resumed.out).at("benchmarks");
  EXPECT_EQ(rows.size(), 28U);
  for (const Json& row : rows) EXPECT_EQ(row.at("label"), "from the journal");
}

}  // namespace
}  // namespace vramfit::bench
