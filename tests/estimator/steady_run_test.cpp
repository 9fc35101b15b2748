#include "estimator/steady_run.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "estimator/card_names.h"
#include "estimator/models.h"
#include "estimator/runtimes.h"
#include "tests/support/expect_bad_input.h"
#include "tests/support/workloads.h"

namespace vramfit {
namespace {

constexpr VirtualGpu kHopper{Arch{90}};

TrainingOptions training(const char* optimizer, std::int64_t batch, std::int64_t seq) {
  TrainingOptions options;
  options.optimizer = optimizer_named(optimizer);
  options.batch = batch;
  options.seq = seq;
  return options;
}

/// What both ends of a comparison must share: all that a verdict rests on.
void expect_same_need(const RunReport& a, const RunReport& b) {
  EXPECT_EQ(a.reserved, b.reserved);
  EXPECT_EQ(a.peak.allocated, b.peak.allocated);
  EXPECT_EQ(a.peak.stage, b.peak.stage);
  EXPECT_EQ(a.peak.step, b.peak.step);
}

TEST(SteadyRun, NeedsWhatALongRunNeeds) {
  const ModelConfig model = model_named("gpt2-124m");
  for (const OptimizerKind& kind : optimizer_kinds()) {
    for (const std::int64_t batch : {1, 3, 8}) {
      for (const std::int64_t accumulate : {1, 2, 9}) {
        SCOPED_TRACE(std::string(kind.name) + " batch " + std::to_string(batch) + " accumulate " +
                     std::to_string(accumulate));
        TrainingOptions options = training(kind.name, batch, 512);
        options.accumulate = accumulate;
        expect_same_need(steady_run(kHopper, model, options), dry_run(kHopper, model, options, 7));
      }
    }
  }
}

TEST(SteadyRun, SeesWhatTwoStepsMiss) {
  const ModelConfig model = model_named("gpt2-124m");
  bool missed = false;
  for (std::int64_t seq = 64; seq <= 1024 && !missed; seq += 32) {
    const TrainingOptions options = training("adamw", 3, seq);
    missed =
        dry_run(kHopper, model, options, 2).reserved < steady_run(kHopper, model, options).reserved;
  }
  EXPECT_TRUE(missed) << "two steps would do everywhere: steady_run could be simpler";
}

TEST(SteadyRun, KeepsTheStepsThatDiffer) {
  const RunReport report = steady_run(kHopper, model_named("llama2-7b"), training("adamw", 4, 512));
  EXPECT_GE(report.stages.back().step, 2);
  EXPECT_EQ(report.stages.back().stage, Stage::ZeroGrad);
  const bool later = std::any_of(report.events.begin(), report.events.end(), [&](const Event& e) {
    return e.step > report.stages.back().step;
  });
  EXPECT_FALSE(later);
}

TEST(SteadyRun, KeepsTheSegmentsOfTheEventsItKeeps) {
  pytorch::TorchTraining options;
  options.batch = 2;
  options.seq = 256;
  const ModelConfig model = model_named("gpt2-124m");
  const Gpu gpu = gpu_of(budget_of(card_named("h200")));
  const auto run = [&](bool events) {
    return steady_run(*workload_of(options), gpu, kUnlimitedBytes, model, {.events = events})
        .report;
  };
  const RunReport report = run(true);
  std::uint64_t reserved = 0;
  auto segment = report.segments.begin();
  for (std::size_t i = 0; i < report.events.size(); ++i) {
    for (; segment != report.segments.end() && segment->event == i; ++segment) {
      reserved += static_cast<std::uint64_t>(segment->bytes);
    }
    ASSERT_EQ(reserved, report.events[i].reserved) << "event " << i;
  }
  EXPECT_EQ(segment, report.segments.end());
  EXPECT_GT(report.segments.size(), 3U);
  EXPECT_TRUE(run(false).segments.empty());
}

TEST(SteadyRun, LooksTheSameWithoutEvents) {
  // Without them steps that would be copies are left out.
  const Gpu gpu = gpu_of(budget_of(card_named("h200")));
  int longer = 0;
  for (const char* name : {"gpt2-124m", "qwen2-0.5b", "gemma3-1b"}) {
    for (const std::int64_t seq : {64, 300, 1000}) {
      for (const auto kind : {pytorch::TorchOptimizer::AdamW, pytorch::TorchOptimizer::Sgd}) {
        pytorch::TorchTraining options;
        options.optimizer = kind;
        options.batch = 4;
        options.seq = seq;
        const auto run = [&](bool events) {
          return steady_run(*workload_of(options), gpu, kUnlimitedBytes, model_named(name),
                            {.events = events})
              .report;
        };
        const RunReport with = run(true);
        const RunReport without = run(false);
        expect_same_need(with, without);
        EXPECT_EQ(with.stages.size(), without.stages.size());
        EXPECT_LE(without.cost, with.cost);
        longer += without.cost < with.cost ? 1 : 0;
      }
    }
  }
  EXPECT_GT(longer, 0);
}

TEST(SteadyRun, NeverRunsAllOfAThousandMicroBatches) {
  TrainingOptions options = training("adamw", 1, 128);
  options.accumulate = 1 << 20;
  const RunReport report = steady_run(kHopper, model_named("tinyllama-1.1b"), options);
  const auto backwards =
      std::count_if(report.stages.begin(), report.stages.end(),
                    [](const StageRecord& r) { return r.stage == Stage::Backward && r.step == 1; });
  EXPECT_GE(backwards, 2);
  EXPECT_LE(backwards, 64);
}

// At its limit the allocator gives back in one what it takes again in the next.
TEST(SteadyRun, MicroBatchesMayTakeTurns) {
  const ModelConfig model = model_named("llama3-8b");
  const Gpu gpu = gpu_of(budget_of(card_named("l40s")));
  std::vector<std::uint64_t> costs;
  for (const char* accumulate : {"59", "101"}) {
    const auto workload = runtime_named("pytorch").workload({{"precision", "fp16"},
                                                             {"autocast", "bf16"},
                                                             {"optimizer", "sgd-momentum"},
                                                             {"accumulate", accumulate},
                                                             {"checkpoint", "full"},
                                                             {"gpus", "2"},
                                                             {"strategy", "fsdp"},
                                                             {"reshard-after-forward", "false"},
                                                             {"batch", "3"},
                                                             {"seq", "18"}},
                                                            true, model);
    const RunReport report =
        steady_run(*workload, gpu, std::uint64_t{43840} << 20, model, {.events = false}).report;
    EXPECT_FALSE(report.missing);
    costs.push_back(report.cost);
  }
  EXPECT_EQ(costs[0], costs[1]);
}

TEST(SteadyRun, GenerationNeedsWhatALongOneNeeds) {
  GenerationOptions options;
  options.batch = 3;
  options.seq = 100;
  for (const std::int64_t generate : {1, 2, 3, 40}) {
    options.generate = generate;
    const ModelConfig model = model_named("qwen2-0.5b");
    expect_same_need(steady_run(kHopper, model, options), dry_run(kHopper, model, options));
  }
}

TEST(SteadyRun, TheCacheHasRoomForAllNewTokens) {
  const ModelConfig model = model_named("llama2-7b");
  GenerationOptions options;
  options.seq = 100;
  options.generate = 1'000'001;
  const RunReport report = steady_run(kHopper, model, options);
  // 2 · layers · hidden · 2 bytes a position.
  EXPECT_EQ(report.peak.by_category[Category::KvCache], std::uint64_t{524'288} * 1'000'100U);
  EXPECT_LE(report.stages.size(), 8U);
}

TEST(SteadyRun, EndsWhereMemoryDoes) {
  const VirtualGpu small{Arch{90}, std::uint64_t{1} << 30};
  const RunReport report = steady_run(small, model_named("llama2-7b"), training("sgd", 1, 128));
  ASSERT_TRUE(report.missing.has_value());
  EXPECT_EQ(report.missing->stage, Stage::Loaded);
}

TEST(SteadyRun, ChecksTheOptionsItShortens) {
  TrainingOptions options = training("sgd", 1, 128);
  options.accumulate = 0;
  const ModelConfig model = model_named("gpt2-124m");
  expect_bad_input([&] { steady_run(kHopper, model, options); }, {"accumulate"});
  options.accumulate = std::int64_t{1} << 62;
  expect_bad_input([&] { steady_run(kHopper, model, options); }, {"accumulate"});
}

}  // namespace
}  // namespace vramfit
