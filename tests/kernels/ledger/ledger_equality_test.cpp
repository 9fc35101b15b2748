#include <gtest/gtest.h>

#include <tuple>

#include "kernels/cpu/pass_through.h"
#include "model/errors.h"
#include "model/transformer/run.h"
#include "runtimes/vramfit/dry_run.h"
#include "tests/kernels/support/host_run.h"
#include "tests/kernels/support/rank_threads.h"
#include "tests/kernels/support/tiny_models.h"

// The central test: a run on the CPU and the same run on a virtual GPU write the same ledger, event
// by event, byte for byte.

namespace vramfit {
namespace {

constexpr DType kPrecisions[] = {DType::Fp32, DType::Fp16, DType::Bf16};
constexpr AttentionForm kForms[] = {AttentionForm::Flash, AttentionForm::Cublas};

void expect_equal(const RunReport& real, const RunReport& virtual_run) {
  ASSERT_FALSE(real.missing.has_value());
  ASSERT_GT(real.events.size(), 50U);
  EXPECT_EQ(first_difference(real, virtual_run), std::nullopt);
  EXPECT_EQ(real.host.reserved, virtual_run.host.reserved);
  EXPECT_EQ(real.host.peak.allocated, virtual_run.host.peak.allocated);
  EXPECT_EQ(real.reserved, virtual_run.reserved);
  EXPECT_EQ(real.peak.allocated, virtual_run.peak.allocated);
  ASSERT_EQ(real.stages.size(), virtual_run.stages.size());
  for (std::size_t i = 0; i < real.stages.size(); ++i) {
    EXPECT_EQ(real.stages[i].before, virtual_run.stages[i].before);
    EXPECT_EQ(real.stages[i].peak, virtual_run.stages[i].peak);
    EXPECT_EQ(real.stages[i].after, virtual_run.stages[i].after);
  }
}

bool goes_together(const OptimizerKind& optimizer, DType precision) {
  try {
    require_precision(optimizer, precision);
  } catch (const BadInput&) {
    return false;
  }
  return true;
}

std::string identifier(std::string text) {
  for (char& letter : text) letter = letter == '-' ? '_' : letter;
  return text;
}

using ModelAndOptimizer = std::tuple<std::string, std::string>;

class TrainingLedgerTest : public testing::TestWithParam<ModelAndOptimizer> {};

TEST_P(TrainingLedgerTest, IsTheSameOnTheCpuAndOnAVirtualGpu) {
  const ModelConfig config = tiny_model(std::get<0>(GetParam()));
  TrainingOptions options;
  options.optimizer = optimizer_named(std::get<1>(GetParam()));
  options.batch = 2;
  options.seq = 3;
  int runs = 0;
  for (const DType precision : kPrecisions) {
    if (!goes_together(options.optimizer, precision)) continue;
    for (const AttentionForm form : kForms) {
      for (const std::int64_t accumulate : {1, 3}) {
        SCOPED_TRACE(std::string(name(precision)) + ", " + name(form) + ", accumulate " +
                     std::to_string(accumulate));
        options.precision = precision;
        options.attention = form;
        options.accumulate = accumulate;
        Host host(HostSource::kDefaultCapacity, kAmpere);
        expect_equal(run_training(host.device, host.ledger, config, options, kThreeSteps),
                     dry_run({kAmpere}, config, options, kThreeSteps));
        EXPECT_EQ(host.ledger.allocated(), 0U);
        EXPECT_EQ(host.beside.ledger().allocated(), 0U);
        EXPECT_EQ(host.beside.ledger().peak().allocated > 0, options.optimizer.on_host);
        ++runs;
      }
    }
  }
  EXPECT_EQ(runs, options.optimizer.master ? 8 : 12);
}

TEST(CheckpointingLedger, IsTheSameOnTheCpuAndOnAVirtualGpu) {
  TrainingOptions options;
  options.batch = 2;
  options.seq = 3;
  options.accumulate = 2;
  for (const ModelConfig& config : tiny_models()) {
    for (const Checkpoint kind : {Checkpoint::Selective, Checkpoint::Full}) {
      for (const std::int64_t every : {1, 2}) {
        SCOPED_TRACE(config.name + ", " + name(kind) + ", every " + std::to_string(every));
        options.checkpointing = {kind, every};
        Host host(HostSource::kDefaultCapacity, kAmpere);
        expect_equal(run_training(host.device, host.ledger, config, options, kThreeSteps),
                     dry_run({kAmpere}, config, options, kThreeSteps));
      }
    }
  }
}

TEST(CodesLedger, IsTheSameOnTheCpuAndOnAVirtualGpu) {
  constexpr Arch kHopper{90};  // which fp8 is for
  ModelConfig config = small_llama();
  for (const char* optimizer : {"adamw-same", "adamw-master"}) {
    for (const Checkpoint kind : {Checkpoint::None, Checkpoint::Selective, Checkpoint::Full}) {
      SCOPED_TRACE(std::string(optimizer) + ", " + name(kind));
      TrainingOptions options;
      options.precision = parse_model_precision("fp8");
      options.optimizer = optimizer_named(optimizer);
      options.checkpointing.kind = kind;
      options.seq = 16;
      options.accumulate = 2;
      Host host(HostSource::kDefaultCapacity, kHopper);
      expect_equal(run_training(host.device, host.ledger, config, options, kThreeSteps),
                   dry_run({kHopper}, config, options, kThreeSteps));
    }
  }
}

TEST(LoraLedger, IsTheSameOnTheCpuAndOnAVirtualGpu) {
  const ModelConfig config = small_llama();
  for (const ModelPrecision& precision : model_precisions()) {
    for (const Checkpoint kind : {Checkpoint::None, Checkpoint::Full}) {
      SCOPED_TRACE(precision.name + std::string(", ") + name(kind));
      TrainingOptions options;
      options.precision = precision;
      options.lora = LoraOptions{4, 8.0F, lora_targets(config)};
      options.checkpointing.kind = kind;
      options.seq = 20;
      options.accumulate = 2;
      constexpr Arch kHopper{90};  // which fp8 is for
      Host host(HostSource::kDefaultCapacity, kHopper);
      expect_equal(run_training(host.device, host.ledger, config, options, kThreeSteps),
                   dry_run({kHopper}, config, options, kThreeSteps));
    }
  }
}

TEST(RanksLedger, IsTheSameOnTheCpuAndOnAVirtualGpu) {
  for (const ModelConfig& config : tiny_models()) {
    for (const Strategy strategy :
         {Strategy::Ddp, Strategy::Zero1, Strategy::Zero2, Strategy::Fsdp}) {
      for (const std::int64_t ranks : {2, 3}) {
        TrainingOptions options;
        options.precision = DType::Fp16;
        options.optimizer = optimizer_named("adamw-8bit");
        options.seq = 4;
        options.accumulate = 2;
        options.checkpointing.kind = Checkpoint::Selective;
        on_ranks(
            ranks,
            [&](std::int64_t rank, RankHost& host) {
              TrainingOptions own = options;
              own.mesh = {strategy, ranks, rank};
              SCOPED_TRACE(config.name + " " + name(strategy) + ", rank " + std::to_string(rank));
              expect_equal(run_training(host.device, host.ledger, config, own, kThreeSteps),
                           dry_run({kAmpere}, config, own, kThreeSteps));
            },
            kAmpere);
      }
    }
  }
}

TEST(RanksLedger, OfAPipelineIsTheSameOnTheCpuAndOnAVirtualGpu) {
  for (ModelConfig config : tiny_models()) {
    config.layers = 4;
    TrainingOptions options;
    options.precision = DType::Fp16;
    options.seq = 4;
    options.accumulate = 4;
    options.checkpointing.kind = Checkpoint::Selective;
    options.mesh = {Strategy::Pipeline, 3, 0, {1, 2, 1}};
    on_ranks(
        options.mesh.ranks,
        [&](std::int64_t rank, RankHost& host) {
          TrainingOptions own = options;
          own.mesh.rank = rank;
          SCOPED_TRACE(config.name + ", rank " + std::to_string(rank));
          expect_equal(run_training(host.device, host.ledger, config, own, kThreeSteps),
                       dry_run({kAmpere}, config, own, kThreeSteps));
        },
        kAmpere);
  }
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const OptimizerKind& kind : optimizer_kinds()) names.emplace_back(kind.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Runs, TrainingLedgerTest,
                         testing::Combine(testing::Values("llama", "qwen2", "qwen3", "gpt2"),
                                          testing::ValuesIn(optimizer_names())),
                         [](const auto& test) {
                           return identifier(std::get<0>(test.param) + "_" +
                                             std::get<1>(test.param));
                         });

class ModelLedgerTest : public testing::TestWithParam<std::string> {
 protected:
  const ModelConfig config = tiny_model(GetParam());
};

TEST_P(ModelLedgerTest, OfGenerationIsTheSame) {
  GenerationOptions options;
  options.batch = 2;
  options.seq = 5;
  for (const DType precision : kPrecisions) {
    for (const AttentionForm form : kForms) {
      for (const std::int64_t generate : {1, 4}) {
        SCOPED_TRACE(std::string(name(precision)) + ", " + name(form) + ", generate " +
                     std::to_string(generate));
        options.precision = precision;
        options.attention = form;
        options.generate = generate;
        Host host(HostSource::kDefaultCapacity, kAmpere);
        expect_equal(run_generation(host.device, host.ledger, config, options),
                     dry_run({kAmpere}, config, options));
      }
    }
  }
}

TEST_P(ModelLedgerTest, FollowsTheArchitecture) {
  TrainingOptions options;
  options.seq = 3;
  Host host(HostSource::kDefaultCapacity, Arch{90});
  const RunReport real = run_training(host.device, host.ledger, config, options, kThreeSteps);
  expect_equal(real, dry_run({Arch{90}}, config, options, kThreeSteps));
  EXPECT_NE(first_difference(real.events, dry_run({Arch{80}}, config, options, kThreeSteps).events),
            std::nullopt);
}

/// One heap allocation per tensor: under AddressSanitizer every access past a tensor's end shows.
TEST_P(ModelLedgerTest, RunsWithoutAPoolAndFreesEverything) {
  TrainingOptions training;
  training.batch = 2;
  training.seq = 3;
  training.accumulate = 2;
  GenerationOptions generation;
  generation.batch = 2;
  generation.seq = 3;
  generation.generate = 3;
  for (const DType precision : kPrecisions) {
    for (const AttentionForm form : kForms) {
      training.precision = precision;
      generation.precision = precision;
      training.attention = generation.attention = form;
      PassThrough allocator;
      Ledger ledger(allocator);
      CpuDevice device(kAmpere);
      const RunReport trained = run_training(device, ledger, config, training);
      EXPECT_FALSE(trained.missing.has_value());
      EXPECT_EQ(trained.reserved, trained.peak.allocated);
      EXPECT_FALSE(run_generation(device, ledger, config, generation).missing.has_value());
      EXPECT_EQ(allocator.live(), 0U);
    }
  }
}

TEST(QuantizedLedger, IsTheSame) {
  for (const ModelPrecision& precision : model_precisions()) {
    for (const std::int64_t seq : {std::int64_t{3}, kFusedRows, kDirectRows}) {
      SCOPED_TRACE(precision.name);
      GenerationOptions options;
      options.precision = precision;
      options.quantize_head = precision.quantized();
      options.batch = 2;
      options.seq = seq;
      options.generate = 3;
      constexpr Arch kHopper{90};
      Host host(HostSource::kDefaultCapacity, kHopper);
      expect_equal(run_generation(host.device, host.ledger, small_llama(), options),
                   dry_run({kHopper}, small_llama(), options));
    }
  }
}

TEST(CacheLedger, IsTheSameOfEveryKind) {
  for (const char* cache : {"unquantized", "fp8", "int8"}) {
    for (const std::int64_t block : {0, 4}) {
      for (const bool spread : {false, true}) {
        SCOPED_TRACE(std::string(cache) + ", blocks of " + std::to_string(block));
        GenerationOptions options;
        options.cache = parse_cache(cache);
        options.block = block;
        options.spread = spread;
        options.batch = 3;
        options.seq = 9;
        options.generate = 4;
        Host host(HostSource::kDefaultCapacity, kAmpere);
        expect_equal(run_generation(host.device, host.ledger, tiny_llama(), options),
                     dry_run({kAmpere}, tiny_llama(), options));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ModelLedgerTest,
                         testing::Values("llama", "qwen2", "qwen3", "gpt2"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace vramfit
