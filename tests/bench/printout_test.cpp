#include "bench/report/printout.h"

#include <gtest/gtest.h>

namespace vramfit::bench {
namespace {

/// The article's Table 2, with peaks.
Counters waterfall(const std::string& prefix) {
  Counters counters;
  const auto stage = [&](const char* name, double after, double peak) {
    counters.set(prefix + "_step1_" + name + "_after", after * 1e9);
    counters.set(prefix + "_step1_" + name + "_peak", peak * 1e9);
  };
  counters.set(prefix + "_allocated", 84e9);
  stage("loaded", 14.0, 14.0);
  stage("forward", 22.4, 22.5);
  stage("backward", 28.0, 36.25);
  stage("optimizer", 84.0, 84.0);
  stage("zero_grad", 70.0, 84.0);
  return counters;
}

constexpr const char* kPrintout = R"(Stage                   Before     After      Peak       Delta
--------------------------------------------------------------
Model Loading-------      0.0M  14000.0M  14000.0M   +14000.0M
Forward Pass--------  14000.0M  22400.0M  22500.0M    +8400.0M
Backward Pass-------  22400.0M  28000.0M  36250.0M    +5600.0M
Optimizer Step------  28000.0M  84000.0M  84000.0M   +56000.0M

Model loaded:             14.0 GB
After forward:            22.4 GB
After backward:           28.0 GB
After optimizer:          84.0 GB
After zero_grad:          70.0 GB
Peak during forward:      22.5 GB
Peak during backward:     36.2 GB
Peak during optimizer:    84.0 GB
)";

TEST(Printout, IsTheArticlesToTheCharacter) {
  EXPECT_EQ(article_waterfall(waterfall("pred")), kPrintout);
}

TEST(Printout, IsOfWhatWasMeasuredWhereSomethingWas) {
  Counters counters = waterfall("mem");
  counters.set("pred_step1_loaded_after", 1.0);
  EXPECT_EQ(article_waterfall(counters), kPrintout);
}

TEST(Printout, HasARecordOfAnInference) {
  Counters counters;
  counters.set("pred_allocated", 15.2e9);
  counters.set("pred_step1_loaded_after", 14e9);
  EXPECT_EQ(article_record(counters, "fp16", "8"), "") << "it ended before the prompt did";
  counters.set("pred_step1_prefill_peak", 15.2e9);
  EXPECT_EQ(article_record(counters, "fp16", "8"),
            "{'precision': 'fp16', 'batch_size': 8, 'model_gb': 14.0, 'peak_gb': 15.2, "
            "'kv_cache_gb': 1.2}\n");
}

}  // namespace
}  // namespace vramfit::bench
