// What several GPUs share under PyTorch; against measurements: tests/pytorch_accuracy_test.py.
#include <gtest/gtest.h>

#include "estimator/models.h"
#include "model/config/model_config.h"
#include "runtimes/pytorch/torch/distributed/bucket_assignment.h"
#include "runtimes/pytorch/transformers/loading/device_map.h"
#include "runtimes/pytorch/transformers/parallel/zero_redundancy.h"
#include "tests/runtimes/pytorch/cases.h"

namespace vramfit::pytorch {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
/// A large block may be left with up to 1 MiB that nobody asked for.
constexpr double kRounding = 2.0 * (1 << 20);

/// A context whose tape is thrown away.
struct OnTape {
  Tape tape{1};
  Gpu gpu = h200();
  Context context{tape, measured_release(), gpu, ~std::uint64_t{0}};

  Tensor of(std::int64_t elements, ScalarType type = ScalarType::Float) {
    return empty(context, {elements}, type, Category::Parameters);
  }
};

std::vector<std::int64_t> sizes_of(const std::vector<Bucket>& buckets) {
  std::vector<std::int64_t> sizes;
  for (const Bucket& bucket : buckets) sizes.push_back(numel(bucket));
  return sizes;
}

using Sizes = std::vector<std::int64_t>;

TEST(BucketAssignment, ABucketIsFullOnceItsLimitIsReached) {
  OnTape on;
  const std::vector<Tensor> tensors = {on.of(1), on.of(2), on.of(3), on.of(1), on.of(1)};
  EXPECT_EQ(sizes_of(assign_buckets(tensors, {12})), (Sizes{3, 3, 2}));
  EXPECT_EQ(sizes_of(assign_buckets(tensors, {4, 20})), (Sizes{1, 5, 2}));
  EXPECT_EQ(sizes_of(assign_buckets(tensors, {1000})), (Sizes{8}));
}

TEST(BucketAssignment, TypesDoNotMix) {
  OnTape on;
  const std::vector<Tensor> tensors = {on.of(1), on.of(2, ScalarType::BFloat16), on.of(4),
                                       on.of(8, ScalarType::BFloat16)};
  const std::vector<Bucket> buckets = assign_buckets(tensors, {1000});
  EXPECT_EQ(sizes_of(buckets), (Sizes{5, 10}));
  EXPECT_EQ(buckets.at(1).front().type(), ScalarType::BFloat16);
}

TEST(BucketAssignment, OneThatIsFullIsFirstWhereItsFirstTensorIs) {
  OnTape on;
  const std::vector<Tensor> tensors = {on.of(1), on.of(3, ScalarType::Byte), on.of(8), on.of(2)};
  EXPECT_EQ(sizes_of(assign_buckets(tensors, {36})), (Sizes{9, 3, 2}));
  EXPECT_EQ(sizes_of(assign_buckets(tensors, {36}, BucketOrder::Filled)), (Sizes{9, 2, 3}));
}

/// Bytes of optimizer states that one step of ZeRO-1 makes.
std::uint64_t states(const std::vector<std::int64_t>& sizes, std::int64_t gpus) {
  OnTape on;
  std::vector<Tensor> parameters;
  for (const std::int64_t size : sizes) parameters.push_back(on.of(size));
  ZeroRedundancyOptimizer optimizer(TorchOptimizer::AdamW, parameters, gpus);
  on.tape.take();
  optimizer.step();
  std::uint64_t bytes = 0;
  for (const Act& act : on.tape.take().acts) {
    const bool state = act.category == Category::OptimizerState;
    if (act.kind == Act::Kind::Allocate && state) bytes += act.bytes;
  }
  return bytes;
}

TEST(ZeroRedundancy, TheLargestGoFirstAndThisIsWhoHasMost) {
  constexpr std::uint64_t kTwoStates = 2 * sizeof(float);
  EXPECT_EQ(states({3, 5, 4}, 2), 7 * kTwoStates);  // 5 and 4 + 3
  EXPECT_EQ(states({3, 5, 4}, 3), 5 * kTwoStates);
  EXPECT_EQ(states({3, 5, 4}, 8), 5 * kTwoStates);
}

ModelConfig llama(std::int64_t hidden = 1024) {
  return model_of({{"model", "small"},
                   {"arch",
                    {{"model_type", "llama"},
                     {"hidden_size", hidden},
                     {"intermediate_size", 4 * hidden},
                     {"num_hidden_layers", 12},
                     {"num_attention_heads", 8},
                     {"num_key_value_heads", 8},
                     {"vocab_size", 32000},
                     {"max_position_embeddings", 4096}}}});
}

TorchTraining spread(DistributedStrategy strategy, std::int64_t gpus) {
  TorchTraining options;
  options.optimizer = TorchOptimizer::AdamWFused;
  options.seq = 512;
  options.distributed.emplace();
  options.distributed->strategy = strategy;
  options.distributed->gpus = gpus;
  return options;
}

RunReport run_of(const TorchTraining& options, const Extent& extent = {},
                 std::uint64_t capacity = kUnlimitedBytes) {
  return run(h200(), measured_release(), llama(), options, extent, capacity);
}

std::uint64_t at_end_of(const RunReport& report, Stage stage, int step, Category category) {
  for (const StageRecord& record : report.stages) {
    if (record.stage == stage && record.step == step) return record.at_end[category];
  }
  ADD_FAILURE() << "no such stage";
  return 0;
}

TEST(FullyShard, EachGpuKeepsItsPart) {
  const auto parameters = [](std::int64_t gpus) {
    const RunReport report = run_of(spread(DistributedStrategy::Fsdp, gpus));
    return static_cast<double>(at_end_of(report, Stage::Loaded, 0, Category::Parameters));
  };
  EXPECT_NEAR(parameters(2) / parameters(4), 2, 0.05);
  EXPECT_NEAR(parameters(2) / parameters(8), 4, 0.1);
  // 32,000 rows in sevenths are padded, to one row more.
  EXPECT_NEAR(parameters(2) / parameters(7), 3.5, 0.15);
}

TEST(FullyShard, LayersAreGatheredOneByOneUnlessTheyStay) {
  TorchTraining options = spread(DistributedStrategy::Fsdp, 2);
  const std::uint64_t one_by_one = run_of(options).peak.by_category[Category::Parameters];
  options.distributed->reshard_after_forward = false;
  EXPECT_GT(run_of(options).peak.by_category[Category::Parameters], one_by_one + 64 * kMebibyte);
}

TEST(FullyShard, LayersLeftOutAreWalkedAlike) {
  for (const bool checkpointed : {false, true}) {
    TorchTraining options = spread(DistributedStrategy::Fsdp, 2);
    if (checkpointed) options.checkpoint = GradientCheckpointing::Full;
    Extent all;
    all.exhaustive = true;
    EXPECT_EQ(first_difference(run_of(options).events, run_of(options, all).events), std::nullopt);
  }
}

TEST(FullyShard, AccelerateReducesInWhatItComputesInAndKeepsFp32) {
  TorchTraining options = spread(DistributedStrategy::Fsdp, 2);
  options.precision = DType::Fp32;
  options.distributed->stored = ScalarType::Float;
  options.distributed->mixed_precision = {ScalarType::BFloat16, ScalarType::BFloat16};
  const RunReport plain = run_of(options);
  options.distributed->by_accelerate = true;
  const RunReport accelerate = run_of(options);
  const auto gradients = [](const RunReport& report) {
    return static_cast<double>(at_end_of(report, Stage::Backward, 2, Category::Gradients));
  };
  EXPECT_NEAR(gradients(plain), gradients(accelerate), kRounding);
  // The embedding is freed after forward, where the root's stays.
  EXPECT_LT(at_end_of(accelerate, Stage::Forward, 2, Category::Parameters) + 32 * kMebibyte,
            at_end_of(plain, Stage::Forward, 2, Category::Parameters));
}

TEST(Ddp, GradientsAreThereTwiceUnlessTheyAreViews) {
  TorchTraining options = spread(DistributedStrategy::Ddp, 2);
  const auto after_backward = [](const RunReport& report, Category category) {
    return static_cast<double>(at_end_of(report, Stage::Backward, 2, category));
  };
  const RunReport copies = run_of(options);
  const double parameters = after_backward(copies, Category::Parameters);
  EXPECT_NEAR(after_backward(copies, Category::Gradients) / parameters, 1, 0.02);
  EXPECT_NEAR(after_backward(copies, Category::Communication) / parameters, 1, 0.02);
  options.distributed->bucket_view = true;
  const RunReport views = run_of(options);
  EXPECT_NEAR(after_backward(views, Category::Gradients) / parameters, 1, 0.02);
  EXPECT_EQ(after_backward(views, Category::Communication), 0);
}

TEST(Ddp, ALeafThatIsNoParameterIsInNoBucket) {
  TorchTraining options = spread(DistributedStrategy::Ddp, 2);
  options.distributed->bucket_view = true;
  options.checkpoint = GradientCheckpointing::Reentrant;  // each layer's input is a leaf
  EXPECT_FALSE(run_of(options).missing.has_value());
}

TEST(Ddp, LaterStepsAreLikeTheThird) {
  for (const DistributedStrategy strategy :
       {DistributedStrategy::Ddp, DistributedStrategy::Zero1, DistributedStrategy::Fsdp}) {
    Extent played;
    played.steps = 5;
    Extent walked = played;
    walked.exhaustive = true;
    const TorchTraining options = spread(strategy, 2);
    EXPECT_EQ(first_difference(run_of(options, played).events, run_of(options, walked).events),
              std::nullopt);
  }
}

TEST(SeveralGpus, RunningOutOfMemoryIsAResult) {
  for (const DistributedStrategy strategy :
       {DistributedStrategy::Ddp, DistributedStrategy::Zero1, DistributedStrategy::Fsdp}) {
    const RunReport report = run_of(spread(strategy, 2), {}, 700 * kMebibyte);
    EXPECT_TRUE(report.missing.has_value());
  }
}

TorchGeneration over(int gpus, int gpu) {
  TorchGeneration options;
  options.seq = 512;
  options.generate = 3;
  options.pretrained.emplace();
  options.pretrained->auto_device_map = true;
  options.pretrained->gpus = gpus;
  options.pretrained->gpu = gpu;
  return options;
}

std::uint64_t loaded(int gpus, int gpu) {
  const RunReport report =
      run(h200(), measured_release(), llama(), over(gpus, gpu), {}, 64'000'000'000);
  return at_end_of(report, Stage::Loaded, 0, Category::Parameters);
}

TEST(DeviceMap, SeveralGpusShareTheModelAndNothingIsThereTwice) {
  const std::uint64_t whole = loaded(1, 0);
  for (const int gpus : {2, 3}) {
    std::uint64_t sum = 0;
    for (int gpu = 0; gpu < gpus; ++gpu) sum += loaded(gpus, gpu);
    EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(whole), kRounding);
    EXPECT_LT(static_cast<double>(loaded(gpus, 0)), 1.3 * static_cast<double>(whole) / gpus);
  }
}

TEST(DeviceMap, EachGpuCachesItsOwnLayers) {
  const auto cache = [](int gpus, int gpu) {
    const RunReport report =
        run(h200(), measured_release(), llama(), over(gpus, gpu), {}, 64'000'000'000);
    return at_end_of(report, Stage::Prefill, 1, Category::KvCache) +
           at_end_of(report, Stage::Prefill, 1, Category::Activations);
  };
  EXPECT_LT(cache(2, 0), cache(1, 0));
  EXPECT_GT(cache(2, 1), 0U);
}

// Where the embedding has no room beside the largest block, the first GPU is left nothing, and
// model.device, which runs what is on the host, is the first that holds something.
TEST(DeviceMap, WhatIsOnTheHostRunsOnTheFirstGpuThatHoldsSomething) {
  const ModelConfig model = model_named("gemma2-2b");
  TorchGeneration options = over(8, 0);
  const std::uint64_t capacity = 2'900'000'000;
  Extent extent;
  extent.extra_capacity = kUnlimitedBytes - capacity;
  std::optional<OnHost> on_host;
  const std::vector<RunReport> reports =
      run_on_each(h200(), measured_release(), model, options, extent, capacity, &on_host);
  ASSERT_TRUE(on_host);
  const auto at_peak = [&](std::size_t gpu, Category category) {
    return reports[gpu].peak.by_category[category];
  };
  EXPECT_EQ(at_peak(0, Category::Parameters), 0U);
  EXPECT_EQ(at_peak(0, Category::KvCache), 0U);
  EXPECT_GT(at_peak(7, Category::Parameters), 0U);
  EXPECT_EQ(reports.back().stages.back().stage, Stage::Decode);
  EXPECT_GT(at_end_of(reports.back(), Stage::Prefill, 1, Category::KvCache) +
                at_end_of(reports.back(), Stage::Prefill, 1, Category::Activations),
            0U);
}

}  // namespace
}  // namespace vramfit::pytorch
