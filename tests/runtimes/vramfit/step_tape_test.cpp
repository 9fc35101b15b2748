#include "runtimes/vramfit/step_tape.h"

#include <gtest/gtest.h>

#include "estimator/models.h"
#include "model/memory/pool.h"
#include "model/transformer/lora.h"
#include "model/transformer/model_precision.h"
#include "runtimes/vramfit/dry_run.h"
#include "runtimes/vramfit/pipeline_split.h"
#include "runtimes/vramfit/virtual_memory.h"

namespace vramfit {
namespace {

constexpr Arch kHopper{90};
constexpr int kSteps = 4;

void expect_same(const CategoryBytes& a, const CategoryBytes& b) {
  for (std::size_t i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    EXPECT_EQ(a[category], b[category]) << name(category);
  }
}

void expect_same(const MemoryUse& a, const MemoryUse& b) {
  EXPECT_EQ(a.allocated, b.allocated);
  EXPECT_EQ(a.stage, b.stage);
  EXPECT_EQ(a.step, b.step);
  expect_same(a.by_category, b.by_category);
}

/// Without what a stage that memory ended leaves behind, which a tape does not clear away.
void expect_same(const StageRecord& a, const StageRecord& b) {
  EXPECT_EQ(a.stage, b.stage);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.before, b.before);
  EXPECT_EQ(a.peak, b.peak);
  EXPECT_EQ(a.reserved, b.reserved);
  EXPECT_EQ(a.peak_reserved, b.peak_reserved);
  ASSERT_EQ(a.out_of_memory, b.out_of_memory);
  if (a.out_of_memory) return;
  EXPECT_EQ(a.after, b.after);
  expect_same(a.at_end, b.at_end);
}

void expect_same(const RunReport& walked, const RunReport& played) {
  EXPECT_EQ(walked.reserved, played.reserved);
  EXPECT_EQ(walked.cost, played.cost);
  expect_same(walked.peak, played.peak);
  EXPECT_EQ(walked.host.reserved, played.host.reserved);
  expect_same(walked.host.peak, played.host.peak);
  ASSERT_EQ(walked.missing.has_value(), played.missing.has_value());
  if (walked.missing) {
    EXPECT_EQ(walked.missing->name, played.missing->name);
    EXPECT_EQ(walked.missing->category, played.missing->category);
    EXPECT_EQ(walked.missing->stage, played.missing->stage);
    EXPECT_EQ(walked.missing->step, played.missing->step);
    EXPECT_EQ(walked.missing->requested, played.missing->requested);
  }
  ASSERT_EQ(walked.stages.size(), played.stages.size());
  for (std::size_t i = 0; i < walked.stages.size(); ++i) {
    SCOPED_TRACE("stage " + std::to_string(i));
    expect_same(walked.stages[i], played.stages[i]);
  }
}

/// Whether few of the layers stand for all.
bool folds(const ModelConfig& model, const TrainingOptions& options) {
  const pytorch::Fold fold = StepTape::fold_of(model, options);
  const ModelConfig few = fold.walked(model);
  VirtualMemory memory(kUnlimitedBytes, false);
  StepTape tape(memory.ledger(), fold, few, options);
  VirtualDevice device(kHopper);
  Trainer trainer(device, memory.ledger(), few, options);
  const bool loading = fold.holds_for(tape.take());
  trainer.step([](Device&, Tensor&, Tensor&) {});
  return fold.folds() && loading && fold.holds_for(tape.take());
}

/// On a card without end, and on ones where memory ends in each of the steps that take more.
void expect_played_as_walked(const ModelConfig& model, const TrainingOptions& options) {
  const RunReport walked = dry_run({kHopper}, model, options, kSteps, true);
  expect_same(walked, dry_run({kHopper}, model, options, kSteps, false));
  std::uint64_t before = 0;
  for (const StageRecord& stage : walked.stages) {
    if (stage.peak_reserved > before) {
      const VirtualGpu less{kHopper, stage.peak_reserved - Pool::kGranularity};
      SCOPED_TRACE("within " + std::to_string(less.pool_capacity));
      expect_same(dry_run(less, model, options, kSteps, true),
                  dry_run(less, model, options, kSteps, false));
    }
    before = std::max(before, stage.peak_reserved);
  }
}

TrainingOptions small() {
  TrainingOptions options;
  options.batch = 2;
  options.seq = 200;
  return options;
}

TEST(StepTape, PlaysEveryOptimizersSteps) {
  const ModelConfig model = model_named("gpt2-124m");
  for (const OptimizerKind& kind : optimizer_kinds()) {
    SCOPED_TRACE(kind.name);
    TrainingOptions options = small();
    options.optimizer = kind;
    EXPECT_TRUE(kind.on_host || folds(model, options));
    expect_played_as_walked(model, options);
    options.accumulate = 3;
    options.precision = DType::Fp16;
    expect_played_as_walked(model, options);
  }
}

TEST(StepTape, PlaysCheckpointingAndAdapters) {
  const ModelConfig model = model_named("qwen2-0.5b");
  for (const Checkpoint kind : {Checkpoint::None, Checkpoint::Selective, Checkpoint::Full}) {
    SCOPED_TRACE(name(kind));
    TrainingOptions options = small();
    options.checkpointing = {kind, 1};
    for (const char* precision : {"bf16", "fp8"}) {
      options.precision = parse_model_precision(precision);
      EXPECT_TRUE(folds(model, options)) << precision;
      expect_played_as_walked(model, options);
    }
    options.lora.emplace();
    options.lora->rank = 16;
    options.lora->targets = usual_lora_targets(model);
    options.precision = parse_model_precision("nf4");
    EXPECT_TRUE(folds(model, options));
    expect_played_as_walked(model, options);
    options.lora->targets = lora_targets(model);
    EXPECT_TRUE(folds(model, options));
    expect_played_as_walked(model, options);
  }
}

TEST(StepTape, PlaysEveryStrategysSteps) {
  const ModelConfig model = model_named("tinyllama-1.1b");
  for (const Strategy strategy :
       {Strategy::Ddp, Strategy::Zero1, Strategy::Zero2, Strategy::Fsdp, Strategy::Pipeline}) {
    SCOPED_TRACE(name(strategy));
    TrainingOptions options = small();
    options.accumulate = 4;
    options.mesh = {strategy, 2, 1};
    if (options.mesh.pipelined()) options = with_split(kHopper, model, options);
    expect_played_as_walked(model, options);
  }
}

TEST(StepTape, PlaysFewLayersAndSomeThatAreRecomputed) {
  ModelConfig model = model_named("tinyllama-1.1b");
  TrainingOptions options = small();
  for (const std::int64_t layers : {1, 2, 4, 5, 6, 7}) {
    SCOPED_TRACE(layers);
    model.layers = layers;
    expect_played_as_walked(model, options);
  }
  model.layers = 22;
  for (const std::int64_t every : {2, 3, 5, 7, 30}) {
    SCOPED_TRACE(every);
    options.checkpointing = {Checkpoint::Full, every};
    EXPECT_EQ(folds(model, options), every < 5);
    expect_played_as_walked(model, options);
  }
}

TEST(StepTape, RefusesAStepThatFreesWhatWasThereBefore) {
  const ModelConfig model = model_named("gpt2-124m");
  VirtualMemory memory(kUnlimitedBytes, false);
  Ledger& ledger = memory.ledger();
  StepTape tape(ledger, pytorch::Fold::none(model), model, small());
  const Block before = ledger.allocate("before", Category::Activations, 512);
  tape.take();
  ledger.free("before", Category::Activations, 512, before);
  EXPECT_THROW(tape.take(), std::logic_error);
}

}  // namespace
}  // namespace vramfit
