// What one of several GPUs that cut a model takes on the stand-in
// (tests/fixtures/pytorch/standin_model_parallel.jsonl), and is predicted to, stage by stage; when
// a stage of a pipeline does what, and what cannot be cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "model/errors.h"
#include "runtimes/pytorch/options.h"
#include "runtimes/pytorch/torch/distributed/pipelining.h"
#include "runtimes/pytorch/transformers/parallel/pipeline_part.h"
#include "runtimes/pytorch/transformers/parallel/tp_plan.h"
#include "tests/runtimes/pytorch/cases.h"

namespace vramfit::pytorch {
namespace {

using Json = nlohmann::json;
using Texts = std::vector<std::string>;

std::vector<Json> cases_of(bool tensor_parallel) {
  std::vector<Json> found;
  for (Json& row : read_lines(VRAMFIT_PYTORCH_FIXTURES "/standin_model_parallel.jsonl")) {
    if (!row.contains("case")) continue;
    if ((row.at("case").at("strategy") == "tp") == tensor_parallel) found.push_back(std::move(row));
  }
  return found;
}

TorchTraining training_on_one(const Json& test_case) {
  TorchTraining options = training_of(test_case);
  Distributed& spread = options.distributed.emplace();
  spread.gpus = test_case.at("gpus");
  if (test_case.at("strategy") == "tp") {
    spread.strategy = DistributedStrategy::Tp;
    options.pretrained.emplace().tp = spread.gpus;
    return options;
  }
  spread.strategy = DistributedStrategy::Pipeline;
  spread.stage = test_case.at("rank");
  if (test_case.at("strategy") == "gpipe") spread.schedule = PipelineSchedule::GPipe;
  return options;
}

/// What was read at the end of a stage, by its key; of a pipeline, whose passes alternate, after
/// the last of a step.
std::map<std::string, StageRecord> by_key(const RunReport& report, bool passes_alternate) {
  std::map<std::string, StageRecord> found;
  for (const StageRecord& stage : report.stages) {
    const std::string step = "step" + std::to_string(stage.step) + ".";
    std::string key = step + name(stage.stage);
    const bool is_pass = stage.stage == Stage::Forward || stage.stage == Stage::Backward;
    if (stage.stage == Stage::Loaded) continue;
    if (!is_pass) {
      found[key] = stage;
    } else if (passes_alternate) {
      StageRecord& all = found[step + name(Stage::Backward)];
      const StageRecord before = all;
      all = stage;
      all.peak = std::max(all.peak, before.peak);
      all.peak_reserved = std::max(all.peak_reserved, before.peak_reserved);
    } else {
      for (int micro = 2; found.contains(key); ++micro) {
        key = step + "micro" + std::to_string(micro) + "." + name(stage.stage);
      }
      found[key] = stage;
    }
  }
  return found;
}

/// Where it is not as read, each with how much more is predicted.
Texts differences(const Json& row) {
  const Json& test_case = row.at("case");
  const RunReport report =
      run(h200(), measured_release(), model_of(test_case), training_on_one(test_case));
  Texts found;
  const Json& stages = row.at("result").at("stages");
  const auto predicted = by_key(report, test_case.at("strategy") != "tp");
  EXPECT_GE(predicted.size(), 6);
  for (const auto& [key, stage] : predicted) {
    const Json& read = stages.at(key);
    const auto compare = [&](const char* level, std::uint64_t bytes) {
      const auto more = static_cast<std::int64_t>(bytes) - read.at(level).get<std::int64_t>();
      if (more != 0) found.push_back(key + " " + level + ": " + std::to_string(more));
    };
    compare("alloc", stage.after);
    compare("peak", stage.peak);
    compare("peak_reserved", stage.peak_reserved);
  }
  return found;
}

bool is_of_reserved(const std::string& difference) {
  return difference.find("peak_reserved") != std::string::npos;
}

// In one of them a block falls into another free one.
TEST(TensorParallel, ARankTakesWhatItDoesOnTheStandin) {
  const std::vector<Json> rows = cases_of(true);
  EXPECT_EQ(rows.size(), 21);
  int off = 0;
  for (const Json& row : rows) {
    SCOPED_TRACE(title_of(row.at("case")));
    Texts found = differences(row);
    off += found.empty() ? 0 : 1;
    std::erase_if(found, is_of_reserved);
    EXPECT_EQ(found, Texts{});
  }
  EXPECT_LE(off, 1);
}

ModelConfig shaped(const std::string& family, std::int64_t heads, std::int64_t kv_heads,
                   Json more = Json::object()) {
  more.update({{"model_type", family},
               {"hidden_size", 512},
               {"intermediate_size", 1376},
               {"num_hidden_layers", 6},
               {"num_attention_heads", heads},
               {"num_key_value_heads", kv_heads},
               {"vocab_size", 2048},
               {"max_position_embeddings", 4096}});
  return model_of({{"model", "small"}, {"arch", more}});
}

std::string refusal(const ModelConfig& config, std::int64_t gpus) {
  try {
    require_tp(config, gpus);
  } catch (const BadInput& refused) {
    return refused.what();
  }
  return "";
}

TEST(TensorParallel, WhatDoesNotDivideIsRefusedWithWhatDoes) {
  EXPECT_EQ(refusal(shaped("llama", 8, 2), 2), "");
  EXPECT_EQ(refusal(shaped("llama", 8, 2), 4),
            "gpus: tp cuts small's 2 key and value heads in equal parts, not in 4; --gpus 2, or "
            "--strategy fsdp");
  EXPECT_EQ(
      refusal(shaped("gemma", 8, 1, {{"head_dim", 64}}), 2),
      "gpus: tp cuts small's 1 key and value heads in equal parts, not in 2; --strategy fsdp");
  EXPECT_EQ(refusal(shaped("phi3", 8, 2), 4), "");  // q, k and v are one, and gathered
}

TEST(TensorParallel, APlanNamesAllLinearsOfALayerAndATiedEmbedding) {
  const ModelConfig tied = shaped("qwen3", 8, 4, {{"tie_word_embeddings", true}});
  EXPECT_EQ(tp_style(tied, "model.layers.11.mlp.down_proj", 11), TpStyle::Rowwise);
  EXPECT_EQ(tp_style(tied, "model.layers.1.self_attn.k_norm", 1), TpStyle::ReplicatedGradients);
  EXPECT_EQ(tp_style(tied, "model.embed_tokens", {}), TpStyle::EmbeddingRowwise);
  EXPECT_EQ(tp_style(tied, "lm_head", {}), TpStyle::ColwiseGatherOutput);
  EXPECT_EQ(tp_style(tied, "model.norm", {}), std::nullopt);
  EXPECT_EQ(tp_style(shaped("llama", 8, 4), "model.embed_tokens", {}), std::nullopt);
}

TEST(Pipeline, AStageTakesWhatItDoesOnTheStandin) {
  const std::vector<Json> rows = cases_of(false);
  EXPECT_EQ(rows.size(), 14);
  for (const Json& row : rows) {
    SCOPED_TRACE(title_of(row.at("case")));
    EXPECT_EQ(differences(row), Texts{});
  }
}

std::string order_of(PipelineSchedule schedule, std::int64_t stage, std::int64_t micro_batches) {
  std::string order;
  for (const PipelinePass& pass : passes_of(schedule, stage, 3, micro_batches)) {
    order += pass.kind == PipelinePass::Kind::Forward ? "F" : "B";
    order += std::to_string(pass.micro_batch);
  }
  return order;
}

TEST(Pipeline, StagesNearerTheLastHaveFewerMicroBatchesInFlight) {
  using enum PipelineSchedule;
  EXPECT_EQ(order_of(OneForwardOneBackward, 0, 4), "F0F1F2B0F3B1B2B3");
  EXPECT_EQ(order_of(OneForwardOneBackward, 1, 4), "F0F1B0F2B1F3B2B3");
  EXPECT_EQ(order_of(OneForwardOneBackward, 2, 4), "F0B0F1B1F2B2F3B3");
  EXPECT_EQ(order_of(GPipe, 1, 3), "F0F1F2B0B1B2");
}

TEST(Pipeline, TheLastStageHasTheLayersThatAreLeftOver) {
  const ModelConfig whole = shaped("llama", 8, 4);
  const auto layers = [&](std::int64_t stage, std::int64_t stages) {
    return part_of_stage(whole, stage, stages).layers;
  };
  EXPECT_EQ((std::vector{layers(0, 4), layers(2, 4), layers(3, 4)}),
            (std::vector<std::int64_t>{1, 1, 3}));
  EXPECT_THROW(require_parts(whole, 7), BadInput);
  EXPECT_THROW(require_parts(shaped("gpt_neox", 8, 8), 2), BadInput);
}

TEST(Pipeline, LayersLeftOutAreWalkedAlike) {
  ModelConfig deep = shaped("llama", 8, 4);
  deep.layers = 40;
  TorchTraining options;
  options.seq = 128;
  options.accumulate = 3;
  options.distributed.emplace().strategy = DistributedStrategy::Pipeline;
  Extent all;
  all.exhaustive = true;
  for (const std::int64_t stage : {0, 1}) {
    options.distributed->stage = stage;
    const RunReport few = run(h200(), measured_release(), deep, options);
    EXPECT_EQ(
        first_difference(few.events, run(h200(), measured_release(), deep, options, all).events),
        std::nullopt);
  }
}

}  // namespace
}  // namespace vramfit::pytorch
