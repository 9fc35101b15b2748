#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/card_names.h"
#include "estimator/estimate.h"
#include "estimator/estimate_json.h"
#include "estimator/largest.h"
#include "estimator/models.h"
#include "tests/support/expect_bad_input.h"
#include "tests/support/workloads.h"

namespace vramfit::pytorch {
namespace {

Request training_on(const char* card, const char* model) {
  TorchTraining options;
  options.seq = 512;
  return {model_named(model), workload_of(options), budget_of(card_named(card))};
}

TEST(PytorchEstimate, TotalIsWhatIsReservedAndTheOverhead) {
  const Request request = training_on("h200", "tinyllama-1.1b");
  const Estimate result = estimate(request);
  EXPECT_TRUE(result.fits);
  EXPECT_EQ(result.total, result.levels.reserved + result.overhead.total());
  EXPECT_EQ(result.levels.device_used, result.stages.back().device_used);
  EXPECT_EQ(result.overhead.context, (*request.budget.overhead.of("pytorch"))["context"]);
  EXPECT_EQ(result.margin, static_cast<std::int64_t>(request.budget.vram - result.total));
  EXPECT_EQ(result.peak.by_category.total(), result.levels.allocated);
}

/// Of PyTorch itself on the stand-in, `vramfit model`: 2 x 300 tokens, --autocast bf16.
struct UnderAutocast {
  const char* model;
  bool qlora;
  std::uint64_t allocated;
  std::uint64_t reserved;
};

TEST(PytorchEstimate, AutocastMayBeOverWeightsInBf16) {
  // gpt2's norms are in fp32 then, and so is what they give; qwen2's are in fp32 either way.
  for (const UnderAutocast& taken :
       {UnderAutocast{"qwen2-0.5b", false, 5'182'857'216, 5'421'137'920},
        UnderAutocast{"qwen2-0.5b", true, 2'472'631'808, 2'850'029'568},
        UnderAutocast{"gpt2-124m", false, 1'752'862'720, 1'801'453'568}}) {
    Request request = training_on("h200", taken.model);
    TorchTraining options;
    options.autocast = DType::Bf16;
    options.optimizer = TorchOptimizer::AdamWFused;
    options.batch = 2;
    options.seq = 300;
    if (taken.qlora) {
      options.lora = LoraConfig{8, projection_names(request.model)};
      options.checkpoint = GradientCheckpointing::Full;
      options.pretrained.emplace().quantization =
          Quantization{Quantization::Format::Nf4, false, ScalarType::BFloat16};
    }
    request.workload = workload_of(options);
    const Estimate result = estimate(request);
    EXPECT_EQ(result.levels.allocated, taken.allocated) << taken.model;
    EXPECT_EQ(result.levels.reserved, taken.reserved) << taken.model;
  }
}

// A card that lacks the type says so, as it does of weights that are stored in it.
TEST(PytorchEstimate, MixedPrecisionComputesInItsParametersType) {
  TorchTraining options;
  options.precision = DType::Fp32;
  Distributed& distributed = options.distributed.emplace();
  distributed.strategy = DistributedStrategy::Fsdp;
  distributed.gpus = 2;
  distributed.stored = ScalarType::Float;
  EXPECT_EQ(workload_of(options)->computes_in(), DType::Fp32);
  distributed.mixed_precision = MixedPrecision{ScalarType::BFloat16, ScalarType::Float};
  EXPECT_EQ(workload_of(options)->computes_in(), DType::Bf16);
}

// In pythia's files the head is embed_out, and so is read first, not last.
TEST(PytorchEstimate, ModelsAreReadInTheOrderOfTheirFiles) {
  Request request = training_on("h200", "pythia-1b");
  TorchGeneration options;
  options.precision = DType::Bf16;
  options.seq = 512;
  options.pretrained.emplace().quantization =
      Quantization{Quantization::Format::Nf4, false, ScalarType::BFloat16};
  request.workload = workload_of(options);
  const Estimate result = estimate(request);
  EXPECT_EQ(result.levels.allocated, 1'021'307'904U) << "by PyTorch on the stand-in";
  EXPECT_EQ(result.levels.reserved, 1'050'673'152U);
}

TEST(PytorchEstimate, ACardOfExactlyTheTotalFits) {
  Request request = training_on("h200", "tinyllama-1.1b");
  const Estimate whole = estimate(request);
  request.budget.vram = whole.total;
  EXPECT_TRUE(estimate(request).fits);
  EXPECT_TRUE(fitting(request).fits);
  request.budget.vram = whole.levels.allocated;
  const Estimate too_small = estimate(request);
  EXPECT_FALSE(too_small.fits);
  EXPECT_LT(too_small.margin, 0);
  ASSERT_TRUE(too_small.missing);
  EXPECT_EQ(too_small.missing->stage, Stage::Optimizer);
  EXPECT_EQ(too_small.missing->category, Category::Workspace);
}

TEST(PytorchEstimate, WhatIsTriedAloneSaysWhatAnEstimateSays) {
  int surely = 0;
  int fits = 0;
  for (const char* model : {"gpt2-124m", "qwen2-0.5b"}) {
    Request request = training_on("h200", model);
    for (const bool qlora : {false, true}) {
      TorchTraining options;
      options.seq = 512;
      if (qlora) {
        options.lora = LoraConfig{8, projection_names(request.model)};
        options.pretrained.emplace().quantization =
            Quantization{Quantization::Format::Nf4, false, ScalarType::BFloat16};
      }
      request.workload = workload_of(options);
      const Estimate whole = estimate(request);
      // From what tensors alone have no room on to what surely fits.
      for (std::uint64_t vram = whole.levels.allocated / 2; vram < whole.total * 11 / 10;
           vram += whole.total / 40) {
        request.budget.vram = vram;
        const Estimate told = estimate(request);
        const Fitting tried = fitting(request);
        EXPECT_EQ(tried.fits, told.fits) << model << " " << vram;
        EXPECT_EQ(tried.surely, told.verdict == Verdict::Fits) << model << " " << vram;
        fits += tried.fits ? 1 : 0;
        surely += tried.surely ? 1 : 0;
      }
    }
  }
  EXPECT_GT(fits, surely);
  EXPECT_GT(surely, 0);
}

TEST(PytorchEstimate, ItMayFitWhereTheAllocatorGivesBackWhatItCached) {
  Request request = training_on("h200", "gpt2-124m");
  const Estimate whole = estimate(request);
  bool gave_back = false;
  for (std::uint64_t mib = 2; mib <= 512 && !gave_back; mib += 2) {
    request.budget.vram = whole.total - (mib << 20);
    const Estimate tight = estimate(request);
    if (!tight.fits) break;
    EXPECT_GE(tight.margin, 0);
    EXPECT_LE(tight.levels.reserved, tight.capacity);
    for (const std::string& note : tight.notes) {
      gave_back = gave_back || note.find("gives back") != std::string::npos;
    }
  }
  EXPECT_TRUE(gave_back);
}

/// How a note about them begins.
std::string managed_note(const Estimate& result) {
  for (const std::string& note : result.notes) {
    if (note.find("paged optimizer states") != std::string::npos) return note;
  }
  return "";
}

TEST(PytorchEstimate, WhatIsPagedTakesTheRoomThereIs) {
  Request request = training_on("h200", "tinyllama-1.1b");
  const Estimate without = estimate(request);
  change_options<TorchTraining>(
      request, [](auto& options) { options.optimizer = TorchOptimizer::PagedAdamW32bit; });
  const Estimate roomy = estimate(request);
  const StageRecord& last = roomy.stages.back();
  EXPECT_EQ(without.levels.managed, 0U);
  EXPECT_EQ(roomy.levels.managed, last.managed);
  EXPECT_GT(last.managed, std::uint64_t{8} << 30);
  EXPECT_EQ(last.device_used, roomy.levels.device_used);
  EXPECT_EQ(roomy.stages.front().managed, 0U) << "before the first step";

  constexpr std::uint64_t kRoom = std::uint64_t{1} << 30;
  request.budget.vram = roomy.total + kRoom;
  const Estimate tight = estimate(request);
  EXPECT_TRUE(tight.fits);
  EXPECT_EQ(tight.levels.managed, tight.capacity - tight.levels.reserved);
  EXPECT_EQ(tight.total, roomy.total);
  EXPECT_EQ(tight.stages.back().device_used,
            last.device_used - roomy.levels.managed + tight.levels.managed);
  EXPECT_EQ(managed_note(tight), managed_note(roomy)) << "it says how much there is of them";
  EXPECT_NE(managed_note(tight), "");
}

TEST(PytorchEstimate, TheLargestBatchIsTheLastThatFits) {
  Request request = training_on("rtx4090", "gpt2-355m");
  const std::int64_t batch = find_largest(request, kBatchAxis).size;
  ASSERT_GT(batch, 0);
  set_size(request, kBatchAxis, batch);
  EXPECT_TRUE(fitting(request).fits);
  set_size(request, kBatchAxis, batch + 1);
  EXPECT_FALSE(fitting(request).fits);
}

TEST(PytorchEstimate, CheckpointingAndLoraTakeLess) {
  const auto peak = [](bool checkpoint, bool lora) {
    Request request = training_on("h200", "tinyllama-1.1b");
    change_options<TorchTraining>(request, [&](auto& options) {
      if (checkpoint) options.checkpoint = pytorch::GradientCheckpointing::Full;
      options.batch = 8;
      if (lora) options.lora = LoraConfig{8, {"q_proj", "v_proj"}};
    });
    return estimate(request).levels.allocated;
  };
  EXPECT_LT(peak(true, false), peak(false, false));
  EXPECT_LT(peak(false, true), peak(false, false));
  EXPECT_LT(peak(true, true), peak(false, true));
}

Request generation_on(std::uint64_t vram, bool quantised) {
  TorchGeneration options;
  options.seq = 512;
  options.pretrained.emplace().auto_device_map = true;
  if (quantised) options.pretrained->quantization = Quantization{Quantization::Format::Nf4};
  Request request{model_named("llama2-7b"), workload_of(options), budget_of(card_named("h200"))};
  request.budget.vram = vram;
  return request;
}

TEST(PytorchEstimate, WhatACardHasNoRoomForStaysOnTheHost) {
  const Request small = generation_on(std::uint64_t{14} << 30, false);
  const Estimate spilled = estimate(small);
  EXPECT_TRUE(spilled.fits);
  ASSERT_TRUE(spilled.on_host);
  EXPECT_GT(spilled.on_host->layers, 0);
  EXPECT_LT(spilled.on_host->layers, 32);
  EXPECT_LT(spilled.levels.allocated, 13'000'000'000U);
  EXPECT_EQ(estimate_json(small, spilled).at("on_host").at("layers"), spilled.on_host->layers);
  const Estimate whole = estimate(generation_on(std::uint64_t{24} << 30, false));
  EXPECT_FALSE(whole.on_host);
  EXPECT_TRUE(whole.fits);
}

TEST(PytorchEstimate, AModelThatIsAllOnTheHostDoesNotFit) {
  const auto says_so = [](const Estimate& found) {
    return std::any_of(found.notes.begin(), found.notes.end(), [](const std::string& note) {
      return note.find("on the host: it runs there, and not on this GPU") != note.npos;
    });
  };
  const Request none = generation_on(std::uint64_t{1700} << 20, false);
  const Estimate on_host = estimate(none);
  EXPECT_TRUE(says_so(on_host));
  EXPECT_FALSE(on_host.fits);
  EXPECT_EQ(on_host.verdict, Verdict::Oom);
  EXPECT_EQ(find_largest(none, kBatchAxis).size, 0);
  // This one has room for the embedding.
  EXPECT_FALSE(says_so(estimate(generation_on(std::uint64_t{2048} << 20, false))));
}

TEST(PytorchEstimate, ASearchKnowsThatLayersStayOnTheHost) {
  const Request small = generation_on(std::uint64_t{12} << 30, false);
  EXPECT_GE(find_largest(small, kBatchAxis).size, 1);
}

TEST(PytorchEstimate, WhatIsQuantisedIsAllOnTheGpuOrNotLoaded) {
  EXPECT_TRUE(estimate(generation_on(std::uint64_t{8} << 30, true)).fits);
  const Estimate refused = estimate(generation_on(std::uint64_t{5} << 30, true));
  EXPECT_FALSE(refused.fits);
  ASSERT_TRUE(refused.missing);
  EXPECT_EQ(refused.missing->stage, Stage::Loaded);
}

TEST(PytorchEstimate, EveryFamilyRunsQuantised) {
  using Format = Quantization::Format;
  for (const std::string& name : model_names()) {
    const ModelConfig model = model_named(name);
    if (model.layers > 40) continue;
    for (const Format format : {Format::Int8, Format::Nf4}) {
      TorchGeneration options;
      options.seq = 64;
      options.generate = 3;
      options.static_cache = format == Format::Nf4;
      options.pretrained.emplace().quantization =
          Quantization{format, format == Format::Nf4, ScalarType::BFloat16};
      Request request{model, workload_of(options), budget_of(card_named("h200"))};
      const std::uint64_t quantised = estimate(request).levels.allocated;
      options.pretrained->quantization.reset();
      request.workload = workload_of(options);
      EXPECT_LT(quantised, estimate(request).levels.allocated) << name;
    }
  }
}

TEST(PytorchEstimate, EveryPublishedModelRunsBothWays) {
  for (const std::string& model : model_names()) {
    SCOPED_TRACE(model);
    Request request = training_on("h200", model.c_str());
    EXPECT_GT(estimate(request).levels.allocated, 0U);
    TorchGeneration options;
    options.seq = 100;
    options.generate = 3;
    for (const AttentionKind kind : {AttentionKind::Sdpa, AttentionKind::Eager}) {
      options.attention = kind;
      request.workload = workload_of(options);
      const Estimate result = estimate(request);
      EXPECT_EQ(result.stages.back().stage, Stage::Decode);
      EXPECT_GT(result.peak.by_category[Category::KvCache], 0U);
    }
  }
}

// DynamicSlidingWindowLayer: past the window the cache grows no more, but the prompt's whole block
// stays until the first decode step has copied what it needs of it.
TEST(PytorchEstimate, MistralsCacheSlides) {
  const auto after = [](std::int64_t seq, std::int64_t generate) {
    Request request = training_on("h200", "mistral-7b");
    request.model.layers = 2;
    TorchGeneration options;
    options.batch = 2;
    options.seq = seq;
    options.generate = generate;
    request.workload = workload_of(options);
    return static_cast<double>(estimate(request).stages.back().after);
  };
  const double token = 2 * 2 * 2 * 8 * 128 * 2;  // batch, layers, keys and values, fp16
  const double slack = 100'000;                  // ids, positions and mask of each token
  EXPECT_NEAR(after(2000, 2040) - after(2000, 40), 2000 * token, 4 << 20) << "blocks unsplit";
  EXPECT_NEAR(after(4000, 1000), after(4000, 200), slack);
  EXPECT_NEAR(after(8192, 2), after(4000, 200), 5 * slack);
  EXPECT_NEAR(after(8192, 1) - after(8192, 2), (8192 - 4096) * token, 5 * slack);
}

TEST(PytorchEstimate, CublasWorksInMoreOnHopperAlone) {
  const auto left_of_a_step = [](const char* card) {
    return estimate(training_on(card, "gpt2-124m")).stages.back().after;
  };
  constexpr std::uint64_t kMore = (32 << 20) - ((8 << 20) + (128 << 10));
  EXPECT_EQ(left_of_a_step("b200"), left_of_a_step("a100-80gb"));
  EXPECT_EQ(left_of_a_step("rtx5090"), left_of_a_step("a100-80gb"));
  // Of each of two threads; blocks that are not split hide some of it.
  EXPECT_GT(left_of_a_step("h200"), left_of_a_step("a100-80gb") + kMore);
}

TEST(PytorchEstimate, JsonHasItsLevelsByStage) {
  const Request request = training_on("h200", "gpt2-124m");
  const nlohmann::ordered_json json = estimate_json(request, estimate(request));
  EXPECT_EQ(json.at("runtime"), "pytorch");
  EXPECT_EQ(json.at("asked").at("optimizer"), "adamw");
  EXPECT_EQ(json.at("asked").at("attention"), "sdpa");
  EXPECT_TRUE(json.at("asked").at("lora").is_null());
  ASSERT_EQ(json.at("stages").size(), 9U);
  for (const auto& stage : json.at("stages")) {
    EXPECT_GE(stage.at("peak_reserved"), stage.at("peak"));
    EXPECT_GE(stage.at("device_used"), stage.at("reserved"));
  }
}

}  // namespace
}  // namespace vramfit::pytorch
