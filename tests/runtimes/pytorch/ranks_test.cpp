// What one of several GPUs was measured to take (data/reference/pytorch_ranks.jsonl), and is
// predicted to, stage by stage.
#include <gtest/gtest.h>

#include "tests/runtimes/pytorch/cases.h"

namespace vramfit::pytorch {
namespace {

using Json = nlohmann::json;

/// FSDP2 with all weights trained; its cases have no NCCL, whose own share no rule is about.
bool is_fully_sharded(const Json& row) {
  return row.contains("case") && row.at("case").at("strategy") == "fsdp" &&
         row.at("case").at("lora") == 0;
}

TorchTraining sharded_training(Json test_case) {
  const bool mixed = test_case.at("precision") == "mixed";
  test_case["dtype"] = mixed ? "fp32" : "bf16";
  test_case.erase("lora");
  TorchTraining options = training_of(test_case);
  Distributed& distributed = options.distributed.emplace();
  distributed.strategy = DistributedStrategy::Fsdp;
  distributed.gpus = test_case.at("gpus");
  if (mixed) {
    distributed.stored = ScalarType::Float;
    distributed.mixed_precision = MixedPrecision{ScalarType::BFloat16, ScalarType::Float};
  }
  return options;
}

TEST(Ranks, FullyShardedTheyTakeWhatWasMeasured) {
  // Forward's peak of one 13B was measured 33,280 bytes higher.
  constexpr double kOfOnePeak = 34'000;
  int cases = 0;
  for (const Json& row : read_lines(VRAMFIT_REFERENCE "/pytorch_ranks.jsonl")) {
    if (!is_fully_sharded(row)) continue;
    const Json& test_case = row.at("case");
    SCOPED_TRACE(title_of(test_case));
    const RunReport report =
        run(h200(), measured_release(), model_of(test_case), sharded_training(test_case));
    for (const StageRecord& stage : report.stages) {
      if (stage.stage == Stage::Loaded) continue;  // read with the step's batch already there
      const std::string key = "step" + std::to_string(stage.step) + "." + name(stage.stage);
      const Json& measured = row.at("result").at("stages").at(key);
      EXPECT_EQ(stage.after, measured.at("alloc").get<std::uint64_t>()) << key;
      EXPECT_NEAR(static_cast<double>(stage.peak), measured.at("peak").get<double>(), kOfOnePeak)
          << key;
    }
    ++cases;
  }
  EXPECT_EQ(cases, 6);
}

}  // namespace
}  // namespace vramfit::pytorch
