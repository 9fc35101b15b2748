// What one of several GPUs was measured to take (data/reference/pytorch_ranks.jsonl), or takes on
// the stand-in (tests/fixtures/pytorch/standin_ranks.jsonl), and is predicted to, stage by stage.
#include <gtest/gtest.h>

#include "runtimes/pytorch/options.h"
#include "tests/runtimes/pytorch/cases.h"

namespace vramfit::pytorch {
namespace {

using Json = nlohmann::json;

constexpr const char* kMeasured = VRAMFIT_REFERENCE "/pytorch_ranks.jsonl";
constexpr const char* kOnStandin = VRAMFIT_PYTORCH_FIXTURES "/standin_ranks.jsonl";

const std::vector<std::string> kEveryProjection = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                                   "gate_proj", "up_proj", "down_proj"};

std::vector<Json> cases_of(const char* file, const std::string& strategy) {
  std::vector<Json> found;
  for (Json& row : read_lines(file)) {
    const bool is_one = row.contains("case") &&
                        row.at("case").at("strategy").get<std::string>().starts_with(strategy);
    if (is_one) found.push_back(std::move(row));
  }
  return found;
}

TorchTraining training_on_each(Json test_case) {
  const bool mixed = test_case.at("precision") == "mixed";
  test_case["dtype"] = mixed ? "fp32" : "bf16";
  const std::int64_t rank = test_case.at("lora");
  test_case.erase("lora");
  TorchTraining options = training_of(test_case);
  if (rank > 0) options.lora = LoraConfig{rank, test_case.value("targets", kEveryProjection)};
  if (test_case.contains("storage")) {
    options.pretrained->quantization->storage = parse_type(test_case.at("storage"));
  }
  Distributed& distributed = options.distributed.emplace();
  const std::string strategy = test_case.at("strategy");
  distributed.strategy =
      strategy.starts_with("fsdp") ? DistributedStrategy::Fsdp : DistributedStrategy::Ddp;
  distributed.reshard_after_forward = strategy != "fsdp-keep";
  distributed.bucket_view = strategy == "ddp-view";
  distributed.gpus = test_case.at("gpus");
  if (mixed) {
    distributed.stored = ScalarType::Float;
    distributed.mixed_precision = MixedPrecision{ScalarType::BFloat16, ScalarType::Float};
  }
  return options;
}

/// Where it is not as read, each with how much more is predicted. Loading is read with the step's
/// batch already there.
std::vector<std::string> differences(const RunReport& report, const Json& stages,
                                     std::uint64_t StageRecord::*predicted, const char* level) {
  std::vector<std::string> found;
  for (const StageRecord& stage : report.stages) {
    if (stage.stage == Stage::Loaded) continue;
    const std::string key = "step" + std::to_string(stage.step) + "." + name(stage.stage);
    const auto read = stages.at(key).at(level).get<std::int64_t>();
    const std::int64_t more = static_cast<std::int64_t>(stage.*predicted) - read;
    if (more != 0) found.push_back(key + " " + level + ": " + std::to_string(more));
  }
  return found;
}

RunReport report_of(const Json& test_case) {
  return run(h200(), measured_release(), model_of(test_case), training_on_each(test_case));
}

using Texts = std::vector<std::string>;

TEST(Ranks, FullyShardedTheyTakeWhatWasMeasured) {
  const std::vector<Json> rows = cases_of(kMeasured, "fsdp");
  EXPECT_EQ(rows.size(), 7);
  for (const Json& row : rows) {
    const Json& test_case = row.at("case");
    SCOPED_TRACE(title_of(test_case));
    const RunReport report = report_of(test_case);
    const Json& stages = row.at("result").at("stages");
    EXPECT_EQ(differences(report, stages, &StageRecord::after, "alloc"), Texts{});
    EXPECT_EQ(differences(report, stages, &StageRecord::peak, "peak"), Texts{});
  }
}

TEST(Ranks, WithAdaptersTheyTakeWhatTheyDoOnTheStandin) {
  const std::vector<Json> rows = cases_of(kOnStandin, "fsdp");
  EXPECT_EQ(rows.size(), 16);
  for (const Json& row : rows) {
    const Json& test_case = row.at("case");
    SCOPED_TRACE(title_of(test_case));
    const RunReport report = report_of(test_case);
    const Json& stages = row.at("result").at("stages");
    EXPECT_EQ(differences(report, stages, &StageRecord::after, "alloc"), Texts{});
    EXPECT_EQ(differences(report, stages, &StageRecord::peak, "peak"), Texts{});
    EXPECT_EQ(differences(report, stages, &StageRecord::peak_reserved, "peak_reserved"), Texts{});
  }
}

// Weights of 4 bits are broadcast as bytes beside adapters and embeddings in fp32. Which free block
// DDP's bucket falls into is off in one.
TEST(Ranks, OverWeightsOf4BitsDdpTakesWhatItDoesOnTheStandin) {
  const std::vector<Json> rows = cases_of(kOnStandin, "ddp");
  ASSERT_EQ(rows.size(), 2);
  for (const Json& row : rows) {
    SCOPED_TRACE(title_of(row.at("case")));
    const RunReport report = report_of(row.at("case"));
    const Json& stages = row.at("result").at("stages");
    if (row.at("case").at("quant") == "nf4") {
      EXPECT_EQ(differences(report, stages, &StageRecord::after, "alloc"), Texts{});
      EXPECT_EQ(differences(report, stages, &StageRecord::peak, "peak"), Texts{});
      EXPECT_EQ(differences(report, stages, &StageRecord::peak_reserved, "peak_reserved"), Texts{});
      continue;
    }
    for (const StageRecord& stage : report.stages) {
      if (stage.stage == Stage::Loaded) continue;
      const Json& read = stages.at("step" + std::to_string(stage.step) + "." + name(stage.stage));
      const auto peak = read.at("peak").get<double>();
      const auto reserved = read.at("peak_reserved").get<double>();
      EXPECT_NEAR(static_cast<double>(stage.peak), peak, 0.003 * peak);
      EXPECT_NEAR(static_cast<double>(stage.peak_reserved), reserved, 0.005 * reserved);
    }
  }
}

// Whether it does is a race, which was lost where gradients are views.
TEST(Ranks, TheFirstBucketThatLivesThroughTheSecondForwardIsThatLarge) {
  int kept = 0;
  for (const Json& row : cases_of(kMeasured, "ddp")) {
    const Json& test_case = row.at("case");
    SCOPED_TRACE(title_of(test_case));
    TorchTraining options = training_on_each(test_case);
    options.distributed->keeps_first_bucket = options.distributed->bucket_view;
    kept += options.distributed->keeps_first_bucket ? 1 : 0;
    const RunReport report = run(h200(), measured_release(), model_of(test_case), options);
    const Json& stages = row.at("result").at("stages");
    EXPECT_EQ(differences(report, stages, &StageRecord::after, "alloc"), Texts{});
    EXPECT_EQ(differences(report, stages, &StageRecord::peak, "peak"), Texts{});
    EXPECT_EQ(differences(report, stages, &StageRecord::peak_reserved, "peak_reserved"), Texts{});
  }
  EXPECT_EQ(kept, 2);
}

}  // namespace
}  // namespace vramfit::pytorch
