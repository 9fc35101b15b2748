// A run of few layers and steps, played as one of many, against a walk of each of them.
#include "runtimes/pytorch/torch/memory/playback.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "estimator/models.h"
#include "runtimes/pytorch/options.h"
#include "tests/runtimes/pytorch/cases.h"

namespace vramfit::pytorch {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

bool same_stage(const StageRecord& a, const StageRecord& b) {
  return a.stage == b.stage && a.step == b.step && a.before == b.before && a.after == b.after &&
         a.peak == b.peak && a.reserved == b.reserved && a.peak_reserved == b.peak_reserved &&
         a.device_used == b.device_used && a.out_of_memory == b.out_of_memory;
}

void expect_same(const RunReport& a, const RunReport& b) {
  ASSERT_EQ(first_difference(a.events, b.events), std::nullopt);
  EXPECT_EQ(a.segments, b.segments);
  EXPECT_EQ(a.missing.has_value(), b.missing.has_value());
  EXPECT_TRUE(
      std::equal(a.stages.begin(), a.stages.end(), b.stages.begin(), b.stages.end(), same_stage));
}

template <typename TorchOptions>
void expect_played_as_walked(const ModelConfig& model, const TorchOptions& options,
                             const Release& release = measured_release()) {
  Extent played;
  played.steps = 4;
  Extent walked = played;
  walked.exhaustive = true;
  for (const std::uint64_t capacity : {kUnlimitedBytes, 12 * kGiB}) {
    expect_same(run(h200(), release, model, options, played, capacity),
                run(h200(), release, model, options, walked, capacity));
  }
}

void expect_each_played_as_walked(const ModelConfig& model, const TorchGeneration& options) {
  Extent walked;
  walked.exhaustive = true;
  std::optional<OnHost> on_host;
  // Some is left on the host of the smaller ones.
  for (const std::uint64_t capacity : {kUnlimitedBytes, 12 * kGiB, 5 * kGiB, 2 * kGiB}) {
    const auto reports = [&](const Extent& extent) {
      return run_on_each(h200(), measured_release(), model, options, extent, capacity, &on_host);
    };
    const std::vector<RunReport> all = reports(walked);
    const std::vector<RunReport> few = reports({});
    ASSERT_EQ(few.size(), all.size());
    for (std::size_t gpu = 0; gpu < all.size(); ++gpu) {
      SCOPED_TRACE(gpu);
      expect_same(few[gpu], all[gpu]);
    }
  }
}

/// One of the ways to train, by number.
TorchTraining training(std::size_t number) {
  TorchTraining options;
  options.seq = 24;
  options.batch = 3;
  options.optimizer =
      std::array{TorchOptimizer::AdamW, TorchOptimizer::AdamWFused, TorchOptimizer::AdamWLoop,
                 TorchOptimizer::SgdMomentum, TorchOptimizer::Sgd}[number % 5];
  options.accumulate = number % 3 == 0 ? 4 : 1;
  options.checkpoint = std::array{GradientCheckpointing::Full, GradientCheckpointing::None,
                                  GradientCheckpointing::Reentrant}[number % 3];
  if (number % 4 == 1) {
    options.precision = DType::Fp32;
    options.autocast = DType::Bf16;
  }
  if (number % 4 == 2) options.attention = AttentionKind::Eager;
  return options;
}

TEST(Playback, IsTheWalkOfEachLayerStepAndMicroBatch) {
  std::size_t number = 0;
  for (const std::string& name : model_names()) {
    const ModelConfig model = model_named(name);
    if (model.layers > 48) continue;
    SCOPED_TRACE(name);
    expect_played_as_walked(model, training(number));
    TorchGeneration generation;
    generation.seq = 40;
    generation.batch = 1 + static_cast<std::int64_t>(number % 2);
    generation.generate = 6;
    expect_played_as_walked(model, generation);
    ++number;
  }
  EXPECT_GE(number, 20U);
}

TEST(Playback, OfEveryReleaseToo) {
  TorchGeneration generation;
  generation.seq = 40;
  generation.batch = 2;
  generation.generate = 6;
  std::size_t number = 0;
  for (const Release& release : releases()) {
    for (const char* name : {"llama3.2-1b", "gpt2-124m", "gemma2-2b"}) {
      SCOPED_TRACE(release.name + ", " + name);
      const ModelConfig model = model_named(name);
      expect_played_as_walked(model, training(number++), release);
      expect_played_as_walked(model, generation, release);
    }
  }
}

TEST(Playback, OfAdaptersToo) {
  TorchTraining options = training(0);
  options.lora = LoraConfig{4, {"q_proj", "v_proj"}};
  expect_played_as_walked(model_named("llama3.2-1b"), options);
  options.checkpoint = GradientCheckpointing::None;
  expect_played_as_walked(model_named("gemma2-2b"), options);
}

TEST(Playback, OfOptimizersThatKeepLessToo) {
  TorchTraining options = training(0);
  for (const auto kind :
       {TorchOptimizer::AdamW8bit, TorchOptimizer::PagedAdamW8bit, TorchOptimizer::PagedAdamW32bit,
        TorchOptimizer::Adafactor, TorchOptimizer::AdafactorTransformers}) {
    SCOPED_TRACE(pytorch::name(kind));
    options.optimizer = kind;
    expect_played_as_walked(model_named("llama3.2-1b"), options);
    expect_played_as_walked(model_named("gpt2-124m"), options);
  }
}

TEST(Playback, OfAdaptersBesideQuantisedWeightsToo) {
  TorchTraining options = training(0);
  options.pretrained = Pretrained{};
  options.optimizer = TorchOptimizer::PagedAdamW8bit;
  std::size_t number = 0;
  for (const auto format : {Quantization::Format::Int8, Quantization::Format::Nf4}) {
    for (const char* name : {"llama3.2-1b", "gemma2-2b", "gpt2-124m", "phi-2"}) {
      SCOPED_TRACE(name);
      const ModelConfig model = model_named(name);
      options.checkpoint = training(number++).checkpoint;
      options.lora = LoraConfig{4, projection_names(model)};
      options.pretrained->quantization = Quantization{.format = format};
      options.pretrained->quantization->double_quant = number % 2 == 0;
      expect_played_as_walked(model, options);
      options.autocast = DType::Bf16;
      expect_played_as_walked(model, options);
      options.autocast.reset();
    }
  }
}

TEST(Playback, OfStaticCachesToo) {
  TorchGeneration options;
  options.seq = 40;
  options.generate = 6;
  options.static_cache = true;
  options.again = true;
  for (const char* name : {"llama3.2-1b", "gemma2-2b", "gpt2-124m"}) {
    SCOPED_TRACE(name);
    expect_played_as_walked(model_named(name), options);
  }
}

TEST(Playback, OfModelsReadFromFilesToo) {
  const ModelConfig model = model_named("llama2-7b");
  TorchTraining tuning = training(0);
  tuning.lora = LoraConfig{4, {"q_proj", "v_proj"}};
  tuning.pretrained = Pretrained{};
  expect_played_as_walked(model, tuning);
  TorchGeneration options;
  options.seq = 40;
  options.generate = 6;
  options.pretrained = Pretrained{.auto_device_map = true, .quantization = {}};
  expect_played_as_walked(model, options);
  for (const auto format : {Quantization::Format::Int8, Quantization::Format::Nf4}) {
    options.pretrained->quantization = Quantization{.format = format};
    expect_played_as_walked(model, options);
  }
  options.pretrained->auto_device_map = false;
  options.pretrained->quantization->double_quant = true;
  for (const char* name : {"llama3.2-1b", "gemma2-2b", "gpt2-124m", "gpt2-774m"}) {
    SCOPED_TRACE(name);
    expect_played_as_walked(model_named(name), options);
    TorchGeneration plain = options;
    plain.pretrained->quantization.reset();
    expect_played_as_walked(model_named(name), plain);
  }
}

// Layers have outliers of their own. After a short prompt only some linears find any, and of a long
// one only some layers do behind a norm.
TEST(Playback, OfOutliersThatEachLayerHasOfItsOwnToo) {
  TorchGeneration options;
  options.generate = 6;
  options.pretrained =
      Pretrained{.quantization = Quantization{.format = Quantization::Format::Int8}};
  std::size_t number = 0;
  for (const char* name : {"llama2-7b", "phi-2", "gpt2-774m", "gemma3-1b"}) {
    for (const std::int64_t seq : {1, 40, 3'000, 50'000, 400'000}) {
      SCOPED_TRACE(std::string(name) + ", " + std::to_string(seq));
      options.seq = seq;
      options.batch = 1 + static_cast<std::int64_t>(number++ % 3);
      options.again = number % 2 == 0;
      expect_played_as_walked(model_named(name), options);
    }
  }
}

// As each of them sees it: the first with the embedding, those between, the last with the head, and
// one that is left nothing. Outliers of LLM.int8() are of each layer, and olmo2 has more further
// behind, on GPUs too that are alike otherwise.
TEST(Playback, OfModelsOnSeveralGpusToo) {
  using Format = Quantization::Format;
  TorchGeneration options;
  options.seq = 40;
  options.generate = 6;
  options.pretrained = Pretrained{.auto_device_map = true, .quantization = {}};
  ModelConfig olmo2 = model_named("olmo2-1b");
  olmo2.layers = 32;
  for (const ModelConfig& model :
       {model_named("llama2-7b"), model_named("gemma3-1b"), model_named("gpt2-774m"), olmo2}) {
    for (const int gpus : {1, 2, 3, 5, 9}) {
      SCOPED_TRACE(model.name + " on " + std::to_string(gpus));
      options.pretrained->gpus = gpus;
      options.pretrained->quantization.reset();
      expect_each_played_as_walked(model, options);
      for (const Format format : {Format::Nf4, Format::Int8}) {
        options.pretrained->quantization = Quantization{.format = format};
        expect_each_played_as_walked(model, options);
      }
    }
  }
}

// What other GPUs run takes nothing here, and those between the first and the last run the same.
TEST(Playback, OfLlmInt8WalksTheLayersOfEachGpuAlone) {
  TorchGeneration options;
  options.seq = 40;
  options.pretrained = Pretrained{
      .auto_device_map = true,
      .quantization = Quantization{.format = Quantization::Format::Int8},
      .gpus = 8,
  };
  const auto walked = [&](const Extent& extent) {
    std::uint64_t cost = 0;
    for (const RunReport& report : run_on_each(h200(), measured_release(), model_named("llama2-7b"),
                                               options, extent, kUnlimitedBytes, nullptr)) {
      cost += report.cost;
    }
    return cost;
  };
  Extent all;
  all.exhaustive = true;
  EXPECT_LT(2 * walked({}), walked(all));
}

/// Adapters over LLM.int8(), of which each layer has outliers of its own; of so few rows not every
/// layer has some.
TorchTraining over_outliers(std::int64_t seq) {
  TorchTraining options;
  options.seq = seq;
  options.lora = LoraConfig{16, {"q_proj", "down_proj"}};
  options.pretrained = Pretrained{
      .auto_device_map = false, .quantization = Quantization{.format = Quantization::Format::Int8}};
  return options;
}

// Autocast's product with the outliers has another type than the one without: then all layers that
// have none are walked.
TEST(Playback, OutliersOfTrainingAreEachLayersOwn) {
  for (const std::int64_t seq : {1, 40}) {
    SCOPED_TRACE(seq);
    TorchTraining options = over_outliers(seq);
    for (const auto checkpoint : {GradientCheckpointing::None, GradientCheckpointing::Full,
                                  GradientCheckpointing::Reentrant}) {
      options.checkpoint = checkpoint;
      options.accumulate = 2;
      for (const auto autocast : {std::optional<DType>(), std::optional(DType::Bf16)}) {
        options.autocast = autocast;
        expect_played_as_walked(model_named("gemma2-2b"), options);
        expect_played_as_walked(model_named("tinyllama-1.1b"), options);
      }
    }
  }
}

TEST(Playback, OfModelsReadFromFilesTapesFewLayersToo) {
  TorchGeneration options;
  options.seq = 40;
  options.pretrained = Pretrained{.auto_device_map = true, .quantization = {}};
  Extent walked;
  walked.exhaustive = true;
  const auto expect_few = [&](const auto& asked) {
    const auto cost = [&](const Extent& extent) {
      return run(h200(), measured_release(), model_named("llama2-7b"), asked, extent).cost;
    };
    EXPECT_LT(2 * cost({}), cost(walked));
  };
  expect_few(options);
  for (const auto format : {Quantization::Format::Int8, Quantization::Format::Nf4}) {
    options.pretrained->quantization = Quantization{.format = format};
    expect_few(options);
  }
  TorchTraining tuning;
  tuning.lora = LoraConfig{16, {"q_proj", "v_proj"}};
  tuning.pretrained =
      Pretrained{.auto_device_map = false, .quantization = options.pretrained->quantization};
  for (const auto checkpoint : {GradientCheckpointing::None, GradientCheckpointing::Full,
                                GradientCheckpointing::Reentrant}) {
    tuning.checkpoint = checkpoint;
    expect_few(tuning);
  }
  tuning.optimizer = TorchOptimizer::AdafactorTransformers;
  expect_few(tuning);
  expect_few(over_outliers(400));
}

// What may be had beyond the capacity, nothing is placed by.
TEST(Playback, GoesOnBeyondTheCapacity) {
  TorchGeneration options;
  options.batch = 64;
  options.pretrained = Pretrained{.auto_device_map = true, .quantization = {}};
  const auto run_with = [&](std::uint64_t beyond, std::optional<OnHost>& on_host) {
    Extent extent;
    extent.extra_capacity = beyond;
    return run(h200(), measured_release(), model_named("llama2-7b"), options, extent, 12 * kGiB,
               &on_host);
  };
  std::optional<OnHost> on_host;
  std::optional<OnHost> on_host_of_more;
  EXPECT_TRUE(run_with(0, on_host).missing);
  const RunReport report = run_with(100 * kGiB, on_host_of_more);
  EXPECT_FALSE(report.missing);
  EXPECT_GT(report.peak.allocated, 12 * kGiB);
  ASSERT_TRUE(on_host && on_host_of_more);
  EXPECT_EQ(on_host->layers, on_host_of_more->layers);
}

}  // namespace
}  // namespace vramfit::pytorch
