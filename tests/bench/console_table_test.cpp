#include "bench/report/console_table.h"

#include <gtest/gtest.h>

namespace vramfit::bench {
namespace {

using Reported = ::benchmark::BenchmarkReporter::Run;

Reported measured(const std::string& name = "Training/tiny/fp16/adamw/batch:4/seq:512") {
  Reported run;
  run.run_name.function_name = name;
  run.counters["mem_allocated"] = 2e9;
  run.counters["mem_device_used"] = 3e9;
  run.counters["pred_device_used"] = 3.0005e9;
  run.counters["tokens_per_second"] = 1234;
  return run;
}

TEST(ConsoleTable, ALineHasLevelsDifferenceAndRate) {
  EXPECT_EQ(console_line(measured()),
            "  batch:4/seq:512                                     2.000     3.000      +0.5"
            "      1234");
}

TEST(ConsoleTable, RowsOfOneKindStandBelowTheirName) {
  EXPECT_EQ(console_name("Training/tiny/fp16/adamw/batch:4/seq:512/attn:cublas"),
            std::pair(std::string("Training/tiny/fp16/adamw"),
                      std::string("batch:4/seq:512/attn:cublas")));
  EXPECT_EQ(console_name("Overhead/context").second, "Overhead/context");
  EXPECT_EQ(console_name("Overhead/context").first, "");
}

TEST(ConsoleTable, NamesAreWhole) {
  const std::string sizes = "seq:512/lora:16/gpu:rtx6000-ada/checkpoint:selective";
  const std::string line = console_line(measured("OomCliff/tiny/bf16/adamw/" + sizes));
  EXPECT_EQ(line.find("  " + sizes + "\n"), 0U) << line;
  EXPECT_NE(line.find("2.000     3.000"), std::string::npos) << line;
}

TEST(ConsoleTable, WhatCameOfItIsNoRate) {
  Reported oom = measured();
  oom.counters["oom"] = 1;
  EXPECT_TRUE(console_line(oom).ends_with("      1234        OOM")) << console_line(oom);
  Reported largest = measured();
  largest.counters.erase("tokens_per_second");
  largest.counters["mem_max_batch"] = 12;
  const std::string line = console_line(largest);
  EXPECT_TRUE(line.ends_with("+0.5             batch 12")) << line;
  EXPECT_LE(line.size(), 100U);
}

TEST(ConsoleTable, TheCoefficientOfVariationIsNoSize) {
  Reported run = measured();
  run.run_type = Reported::RT_Aggregate;
  run.aggregate_name = "cv";
  for (auto& [name, counter] : run.counters) counter = 0.0125;
  const std::string line = console_line(run);
  EXPECT_NE(line.find("  batch:4/seq:512_cv "), std::string::npos) << line;
  EXPECT_NE(line.find(" 1.25 % "), std::string::npos) << line;
}

}  // namespace
}  // namespace vramfit::bench
