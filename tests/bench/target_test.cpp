#include "bench/rows/target.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "estimator/card_names.h"
#include "tests/bench/run_bench.h"
#include "tests/support/scratch_folder.h"

namespace vramfit::bench {
namespace {

using Json = nlohmann::json;

/// What the rows Overhead/… write: they do not run PyTorch.
class WithProfile : public testing::Test {
 protected:
  WithProfile() {
    Json overhead = {{"source", "measured on a card"}};
    for (const char* part : {"driver_reserved", "context", "cublaslt", "cudnn", "modules"}) {
      overhead[part] = {{"bytes", 1 << 20}, {"source", "measured"}};
    }
    std::ofstream(path_) << Json{{"schema", 1},         {"gpu", "NVIDIA H200"}, {"driver", "1"},
                                 {"cuda", "1"},         {"cublas", "1"},        {"cudnn", "1"},
                                 {"overhead", overhead}};
  }

  const ScratchFolder folder_;
  const std::filesystem::path path_ = folder_ / "profile.json";
};

TEST_F(WithProfile, WhatItDoesNotSayIsTheCards) {
  Target target("virtual:h200,rtx4090", {}, path_.string());
  for (const Card* card : target.cards()) {
    EXPECT_EQ(card->overhead.context, 1U << 20);
    ASSERT_NE(card->overhead.of("pytorch"), nullptr) << card->name;
    EXPECT_EQ(card->overhead.runtimes, card_named(card->name).overhead.runtimes);
    EXPECT_EQ(card->overhead_assumed, card->name != "h200");
  }
}

TEST_F(WithProfile, PytorchTakesNoLessByIt) {
  const std::string row = "Training/llama2-7b/fp16/adamw/batch:4/seq:512";
  const std::string ask = "--device=virtual:h200 --benchmark_filter='^" + row + "$' ";
  const Json without = row_of(report_of(ask), row);
  const Json with = row_of(report_of(ask + "--profile='" + path_.string() + "'"), row);
  EXPECT_LT(with.at("pred_device_used"), without.at("pred_device_used"));
  EXPECT_EQ(with.at("pytorch_device_used"), without.at("pytorch_device_used"));
}

// The host's memory has no PyTorch that anybody measured.
TEST(Target, WhereNobodyKnowsPytorchsShareThereIsNoColumn) {
  const Json report = report_of(
      "--device=cpu --config='" VRAMFIT_FIXTURES
      "/tiny-gpt2/config.json' --precision=fp32 --optimizer=sgd --attention=flash --seq=16 "
      "--speed-seconds=0 --benchmark_filter=Training --batch=2 --vram=40MB");
  const Json& row = report.at("benchmarks").at(0);
  EXPECT_EQ(row.count("pred_device_used"), 1U);
  EXPECT_EQ(row.count("pytorch_device_used"), 0U);
}

}  // namespace
}  // namespace vramfit::bench
