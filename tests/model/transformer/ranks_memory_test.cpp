#include <gtest/gtest.h>

#include "model/errors.h"
#include "model/memory/pool.h"
#include "model/parallel/shard.h"
#include "model/transformer/parameters.h"
#include "model/transformer/run.h"
#include "tests/model/memory/recording_source.h"
#include "tests/model/transformer/contract_device.h"
#include "tests/model/transformer/runs.h"

// What a rank of several takes, and that it uses nothing which a collective has.

namespace vramfit {
namespace {

constexpr Strategy kStrategies[] = {Strategy::Ddp, Strategy::Zero1, Strategy::Zero2,
                                    Strategy::Fsdp};

/// Runs two steps on memory that tells tensors apart, though nothing stands behind it.
void expect_contracts(const ModelConfig& config, const TrainingOptions& options) {
  auto* base = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40);
  RecordingSource source(std::uint64_t{1} << 40, base);
  Pool pool(source);
  Ledger ledger(pool);
  ContractDevice device(options.precision.activations);
  run_training(device, ledger, config, options, 2);
  EXPECT_EQ(ledger.allocated(), 0U);
}

std::uint64_t bytes_of(const RunReport& report, Stage stage, int step, Category category) {
  return stage_of(report, stage, step).at_end[category];
}

TEST(RanksMemory, NothingIsUsedThatACollectiveHas) {
  for (const std::string& model : every_kind_of_model()) {
    const ModelConfig config = shallow(model, 3);
    for (TrainingOptions options : every_kind_of_training()) {
      if (options.optimizer.on_host) continue;  // of one GPU
      for (const Strategy strategy : kStrategies) {
        if (options.optimizer.rule == OptimizerKind::Rule::Adafactor && strategy != Strategy::Ddp) {
          continue;
        }
        SCOPED_TRACE(model + " " + options.optimizer.name + " " + options.precision.name + " " +
                     name(strategy));
        options.mesh = {strategy, 3, 1};
        expect_contracts(config, options);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(RanksMemory, NothingIsUsedThatACollectiveHasWithAdapters) {
  for (const std::string& model : every_kind_of_model()) {
    const ModelConfig config = shallow(model, 3);
    for (TrainingOptions options : every_kind_of_adapters(config)) {
      for (const Strategy strategy : kStrategies) {
        SCOPED_TRACE(model + " " + options.precision.name + " " + name(strategy));
        options.mesh = {strategy, 4, 3};
        options.checkpointing.kind = Checkpoint::Full;
        expect_contracts(config, options);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(RanksMemory, NothingIsUsedThatANeighbourHas) {
  for (const std::string& model : every_kind_of_model()) {
    const ModelConfig config = shallow(model, 4);
    for (TrainingOptions options : every_kind_of_training()) {
      if (options.optimizer.on_host) continue;  // of one GPU
      options.accumulate = 4;
      for (const std::int64_t rank : {0, 1, 2}) {
        SCOPED_TRACE(model + " " + options.optimizer.name + " " + options.precision.name +
                     ", stage " + std::to_string(rank));
        options.mesh = {Strategy::Pipeline, 3, rank, {1, 2, 1}};
        expect_contracts(config, options);
        if (HasFailure()) return;
      }
    }
  }
}

/// What the stages of a pipeline have is one GPU's, but for a tied head's weight.
TEST(RanksMemory, OfStagesIsThatOfAllTogether) {
  for (const char* model : {"llama2-7b", "gpt2-124m"}) {
    const ModelConfig config = shallow(model, 8);
    TrainingOptions options;
    options.seq = 64;
    const auto parameters = [&] {
      return bytes_of(trained(config, options), Stage::Loaded, 0, Category::Parameters);
    };
    const std::uint64_t one = parameters();
    std::uint64_t all = 0;
    for (const std::int64_t rank : {0, 1, 2}) {
      options.mesh = {Strategy::Pipeline, 3, rank, {1, 2, 5}};
      all += parameters();
    }
    const auto table = static_cast<std::uint64_t>(2 * stored_vocab(config) * config.hidden);
    EXPECT_EQ(all, one + (config.tied_head ? table : 0)) << model;
  }
}

/// The first stage keeps a micro-batch for each stage, the last one but one; and no more where
/// there are no more.
TEST(RanksMemory, OfAStageHasTheMicroBatchesInFlight) {
  const ModelConfig config = shallow("llama2-7b", 8);
  TrainingOptions options;
  const auto activations = [&](std::int64_t rank, std::int64_t accumulate) {
    options.accumulate = accumulate;
    options.mesh = {Strategy::Pipeline, 4, rank, {2, 2, 2, 2}};
    std::uint64_t most = 0;
    for (const StageRecord& record : trained(config, options).stages) {
      if (record.stage != Stage::Forward) continue;
      most = std::max(most, record.at_end[Category::Activations]);
    }
    return most;
  };
  const std::uint64_t kept = activations(2, 8) - activations(2, 1);
  EXPECT_GT(kept, activations(2, 1) / 2);
  EXPECT_EQ(activations(1, 8), activations(2, 1) + 2 * kept);
  EXPECT_EQ(activations(0, 8), activations(2, 1) + 3 * kept);
  EXPECT_EQ(activations(0, 2), activations(2, 8));
}

TEST(RanksMemory, IsCutAsTheStrategySays) {
  const ModelConfig config = shallow("llama2-7b", 8);
  TrainingOptions options;
  const RunReport one = trained(config, options);
  const auto of = [&](Strategy strategy, Stage stage, Category category) {
    TrainingOptions shared = options;
    shared.mesh = {strategy, 4, 2};
    return static_cast<double>(bytes_of(trained(config, shared), stage, 2, category)) /
           static_cast<double>(bytes_of(one, stage, 2, category));
  };
  struct Cut {
    Strategy strategy;
    double parameters, gradients, states;
  };
  for (const Cut& cut :
       {Cut{Strategy::Ddp, 1, 1, 1}, Cut{Strategy::Zero1, 1, 1, 0.25},
        Cut{Strategy::Zero2, 1, 0.25, 0.25}, Cut{Strategy::Fsdp, 0.25, 0.25, 0.25}}) {
    SCOPED_TRACE(name(cut.strategy));
    EXPECT_DOUBLE_EQ(of(cut.strategy, Stage::Backward, Category::Parameters), cut.parameters);
    EXPECT_DOUBLE_EQ(of(cut.strategy, Stage::Backward, Category::Gradients), cut.gradients);
    EXPECT_DOUBLE_EQ(of(cut.strategy, Stage::Optimizer, Category::OptimizerState), cut.states);
  }
}

/// Ranks are alike: their parts are as large, padding included.
TEST(RanksMemory, IsTheSameOnEveryRank) {
  TrainingOptions options;
  options.seq = 64;
  options.optimizer = optimizer_named("adamw-8bit");
  for (const std::string& model : every_kind_of_model()) {
    const ModelConfig config = shallow(model);
    for (const Strategy strategy : kStrategies) {
      for (const std::int64_t ranks : {3, 8, 512}) {
        SCOPED_TRACE(model + " " + name(strategy));
        options.mesh = {strategy, ranks, 0};
        const RunReport first = trained(config, options);
        options.mesh.rank = ranks - 1;
        EXPECT_EQ(first_difference(first.events, trained(config, options).events), std::nullopt);
      }
    }
  }
}

TEST(RanksMemory, OfOneIsThatOfOneGpu) {
  const ModelConfig config = shallow("llama2-7b");
  TrainingOptions options;
  const RunReport one = trained(config, options);
  for (const Strategy strategy : kStrategies) {
    options.mesh = {strategy, 1, 0};
    EXPECT_EQ(first_difference(one.events, trained(config, options).events), std::nullopt);
  }
}

TEST(RanksMemory, IsRefusedWhereItCannotBe) {
  const auto refused = [](const Mesh& mesh, const char* optimizer = "adamw") {
    TrainingOptions options;
    options.mesh = mesh;
    options.optimizer = optimizer_named(optimizer);
    EXPECT_THROW(trained(shallow("llama2-7b"), options), BadInput);
  };
  refused({Strategy::None, 2, 0});
  refused({Strategy::Ddp, 0, 0});
  refused({Strategy::Ddp, 2, 2});
  refused({Strategy::Ddp, kMaxRanks + 1, 0});
  refused({Strategy::Fsdp, 2, 0}, "adafactor");
  refused({Strategy::Pipeline, 64, 0});
  EXPECT_THROW(parse_strategy("megatron"), BadInput);
}

TEST(Shard, PartsAreWholeBlocksAndCoverTheTensor) {
  for (const Shape& stored : {Shape{4096}, Shape{7}, Shape{50304, 768}, Shape{11, 100}}) {
    for (const std::int64_t ranks : {1, 2, 3, 7, 512}) {
      const Shard shard = shard_of(stored, {Strategy::Fsdp, ranks, ranks - 1});
      EXPECT_EQ(shard.part.elements() % kShardElements, 0);
      EXPECT_GE(shard.whole[0], stored[0]);
      EXPECT_EQ(shard.part[0] * ranks, shard.whole[0]);
      EXPECT_EQ(shard.first + shard.part[0], shard.whole[0]);
    }
  }
}

}  // namespace
}  // namespace vramfit
