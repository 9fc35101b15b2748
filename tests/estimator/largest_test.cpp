#include "estimator/largest.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "estimator/card_names.h"
#include "estimator/estimate.h"
#include "estimator/models.h"
#include "estimator/runtimes.h"
#include "runtimes/vramfit/pipeline_split.h"
#include "tests/support/workloads.h"

namespace vramfit {
namespace {

Request training(const char* model, const char* card) {
  TrainingOptions options;
  options.seq = 512;
  return {model_named(model), workload_of(options), budget_of(card_named(card))};
}

bool fits_with_batch(Request request, std::int64_t batch) {
  set_size(request, kBatchAxis, batch);
  return fitting(request).fits;
}

TEST(Largest, BatchFitsAndOneMoreDoesNot) {
  for (const char* card : {"rtx4090", "a100-40gb", "h200"}) {
    const Request request = training("gpt2-1.5b", card);
    const std::int64_t batch = find_largest(request, kBatchAxis).size;
    ASSERT_GT(batch, 0);
    EXPECT_TRUE(fits_with_batch(request, batch));
    EXPECT_FALSE(fits_with_batch(request, batch + 1));
  }
}

// A batch is each GPU's. What is cut leaves room for more of it.
TEST(Largest, OnSeveralGpusBatchIsEachOnes) {
  std::int64_t before = find_largest(training("tinyllama-1.1b", "rtx4090"), kBatchAxis).size;
  for (const Strategy strategy :
       {Strategy::Ddp, Strategy::Zero1, Strategy::Zero2, Strategy::Fsdp}) {
    Request request = training("tinyllama-1.1b", "rtx4090");
    TrainingOptions options;
    options.seq = 512;
    options.mesh = {strategy, 4, 0};
    request.workload = workload_of(options);
    const std::int64_t batch = find_largest(request, kBatchAxis).size;
    EXPECT_TRUE(fits_with_batch(request, batch)) << name(strategy);
    EXPECT_FALSE(fits_with_batch(request, batch + 1)) << name(strategy);
    if (strategy == Strategy::Ddp) {
      EXPECT_LE(batch, before) << "NCCL has its share";
    } else {
      EXPECT_GE(batch, before) << name(strategy);
    }
    before = batch;
  }
}

/// Each size has blocks of its own split: those of the rank that takes most decide.
TEST(Largest, OfAPipelineFitsOnEveryRank) {
  Request request = training("tinyllama-1.1b", "rtx4090");
  TrainingOptions options;
  options.seq = 512;
  options.accumulate = 6;
  options.mesh = {Strategy::Pipeline, 3, 0};
  request.workload = workload_of(options);
  const std::int64_t batch = find_largest(request, kBatchAxis).size;
  ASSERT_GT(batch, 1);
  EXPECT_TRUE(fits_with_batch(request, batch));
  EXPECT_FALSE(fits_with_batch(request, batch + 1));
  options.batch = batch;
  options = with_split(request.budget.arch, request.model, options);
  const std::uint64_t capacity = estimate(request).capacity;
  for (options.mesh.rank = 0; options.mesh.rank < options.mesh.ranks; ++options.mesh.rank) {
    EXPECT_LE(dry_run({request.budget.arch}, request.model, options, 4, false).reserved, capacity)
        << options.mesh.rank;
  }
}

TEST(Largest, NothingFitsIsZero) {
  EXPECT_EQ(find_largest(training("llama2-7b", "rtx4090"), kBatchAxis).size, 0);
  EXPECT_EQ(find_largest(training("llama2-7b", "rtx4090"), kSeqAxis).size, 0);
}

// Every capacity around the place where what is mapped shrinks as the batch grows.
TEST(Largest, IsTheLargestOfAllThatFit) {
  Request request = training("gpt2-124m", "rtx4090");
  for (std::uint64_t mib = 540; mib <= 800; mib += 10) {
    request.budget.vram = request.budget.overhead.total() + (mib << 20);
    std::int64_t expected = 0;
    for (std::int64_t batch = 1; batch <= 24; ++batch) {
      set_size(request, kSeqAxis, 100);
      if (fits_with_batch(request, batch)) expected = batch;
    }
    ASSERT_LT(expected, 24);
    EXPECT_EQ(find_largest(request, kBatchAxis).size, expected) << mib << " MiB";
  }
}

TEST(Largest, SeqEndsWhereTheModelDoes) {
  EXPECT_EQ(find_largest(training("gpt2-124m", "h200"), kSeqAxis).size, 1024);
  Request request = training("mistral-7b", "h200");
  request.workload = workload_of(GenerationOptions{});
  EXPECT_EQ(find_largest(request, kSeqAxis).size, 4096);
}

TEST(Largest, TheRequestsOwnSizeDoesNotMatter) {
  Request request = training("gpt2-1.5b", "rtx4090");
  const std::int64_t batch = find_largest(request, kBatchAxis).size;
  set_size(request, kBatchAxis, 1000);
  EXPECT_EQ(find_largest(request, kBatchAxis).size, batch);
}

/// What PyTorch is asked.
Request in_pytorch(const char* model, const char* card, bool training, const Flags& flags) {
  const ModelConfig config = model_named(model);
  return {config, runtime_named("pytorch").workload(flags, training, config),
          budget_of(card_named(card))};
}

// An unpadded batch of 1 keeps whole attention scores in fp32, a padded one of 8 does not.
TEST(Largest, ABatchOfOneThatDoesNotFitEndsNoSearch) {
  const Request request =
      in_pytorch("tinyllama-1.1b", "rtx4090", false, {{"precision", "fp32"}, {"seq", "8192"}});
  const Largest found = find_largest(request, kBatchAxis);
  EXPECT_GE(found.size, 8);
  ASSERT_TRUE(found.holes.has_value());
  EXPECT_EQ(*found.holes, std::vector<std::int64_t>{1});
}

// Against every size one by one.
TEST(Largest, NamesTheHolesBelow) {
  const Request request = in_pytorch("llama2-7b", "rtx4090", false, {{"seq", "128"}});
  const Largest found = find_largest(request, kBatchAxis);
  std::vector<std::int64_t> holes;
  std::int64_t largest = 0;
  for (std::int64_t batch = 1; batch <= 160; ++batch) {
    if (!fits_with_batch(request, batch)) {
      holes.push_back(batch);
      continue;
    }
    largest = batch;
  }
  while (!holes.empty() && holes.back() > largest) holes.pop_back();
  EXPECT_EQ(found.size, largest);
  EXPECT_FALSE(holes.empty());
  EXPECT_EQ(*found.holes, holes);
}

// Few sizes are tried, each with all decode steps.
TEST(Largest, ALongGenerationsAnswerHoldsForAllOfIt) {
  for (const char* card : {"rtx3070", "rtx4090"}) {
    const Request request = in_pytorch("qwen2-0.5b", card, false, {{"generate", "60"}});
    const Largest found = find_largest(request, kBatchAxis);
    EXPECT_LE(found.step, 1 + *found.from / 16);
    EXPECT_EQ(found.next, found.size + 1);
    EXPECT_TRUE(fits_with_batch(request, found.size)) << found.size;
    EXPECT_FALSE(fits_with_batch(request, found.next)) << found.size;
    EXPECT_FALSE(fits_with_batch(request, found.size + found.step)) << found.size;
  }
}

/// Those up to `most` that fit, by trying all.
std::vector<std::int64_t> that_fit(Request request, const SearchAxis& which, std::int64_t from,
                                   std::int64_t most) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = from; size <= most; ++size) {
    set_size(request, which, size);
    if (fitting(request).fits) sizes.push_back(size);
  }
  return sizes;
}

// Which layers stay on the host is up to the card: a run that gaps end there, and that would
// complete on a larger one, says nothing of larger sizes.
TEST(Largest, OfAModelThatIsPartlyOnTheHost) {
  Request request = in_pytorch("llama3-8b", "rtx4070", false,
                               {{"precision", "fp16"},
                                {"padded", ""},
                                {"device-map", "auto"},
                                {"attention", "eager"},
                                {"batch", "4"}});
  request.beyond_positions = true;
  const Largest found = find_largest(request, kSeqAxis);
  ASSERT_EQ(found.step, 1);
  EXPECT_EQ(that_fit(request, kSeqAxis, found.size, found.size + 100),
            std::vector<std::int64_t>{found.size});
}

// A loader that reads into one block as large as the card allows leaves other gaps on a smaller
// one.
TEST(Largest, HolesAreThoseOfTheRunThatIsToldOf) {
  Request request = in_pytorch("qwen2-7b", "rtx3080-10gb", false,
                               {{"padded", ""}, {"quant", "int8"}, {"batch", "21"}});
  request.budget.headroom = 3'000'000;
  const Largest found = find_largest(request, kSeqAxis);
  ASSERT_GT(found.size, 0);
  ASSERT_TRUE(found.holes.has_value());
  const auto fit = that_fit(request, kSeqAxis, 1, found.size);
  for (const std::int64_t hole : *found.holes) {
    EXPECT_EQ(std::count(fit.begin(), fit.end(), hole), 0) << hole;
  }
}

// Where memory runs short the allocator gives back what it cached: what such a run leaves of the
// card is what counts, not what one with all it likes would take.
TEST(Band, IsOfTheVerdictsThatAnswersHave) {
  const Flags common = {{"checkpoint", "full"}, {"precision", "fp32"}, {"seq", "984"}};
  Flags lora = common;
  lora.insert({{"optimizer", "adamw-loop"}, {"lora", "73"}});
  for (const Request& request :
       {in_pytorch("gpt2-1.5b", "a40", true, lora), in_pytorch("gpt2-1.5b", "h200", true, common),
        in_pytorch("gpt2-124m", "rtx4090", true, common)}) {
    SizedRuns runs(request, kBatchAxis);
    const Largest found = find_largest(runs);
    const Band band = band_around(found, runs);
    const auto verdict_at = [&](std::int64_t batch) {
      Request sized = request;
      set_size(sized, kBatchAxis, batch);
      return estimate(sized).verdict;
    };
    ASSERT_GT(band.surely, 0);
    EXPECT_EQ(verdict_at(band.surely), Verdict::Fits);
    for (std::int64_t batch = band.surely + 1; batch <= found.size; ++batch) {
      EXPECT_NE(verdict_at(batch), Verdict::Fits) << batch << " of " << found.size;
    }
    EXPECT_GE(band.possibly, found.size);
    EXPECT_NE(verdict_at(band.possibly), Verdict::Oom);
  }
}

/// Where the verdict changes, it does from one size to the next: also of long generations, all of
/// whose decode steps count, and which fit longest by giving back what the allocator caches.
TEST(Band, EndsWhereTheVerdictChanges) {
  const Flags seq_1 = {{"precision", "fp16"}, {"generate", "60"}, {"seq", "1"}};
  // Which of several GPUs is the fullest depends on what each has, and on the decode steps.
  Request several = in_pytorch("qwen2-0.5b", "h200", false,
                               {{"precision", "fp32"},
                                {"generate", "34"},
                                {"gpus", "4"},
                                {"attention", "eager"},
                                {"seq", "3"}});
  several.budget.vram = 114ULL << 30U;
  for (const Request& request :
       {in_pytorch("phi-2", "rtx4090", false, seq_1),
        in_pytorch("gpt2-124m", "rtx3070", false, seq_1),
        in_pytorch("qwen2-0.5b", "rtx4090", false, {{"seq", "100"}}), several}) {
    SCOPED_TRACE(request.model.name);
    SizedRuns runs(request, kBatchAxis);
    const Largest found = find_largest(runs);
    const Band band = band_around(found, runs);
    const auto verdict_at = [&](std::int64_t batch) {
      Request sized = request;
      set_size(sized, kBatchAxis, batch);
      return estimate(sized, OomDetail::Untold).verdict;
    };
    ASSERT_GT(band.surely, 0);
    EXPECT_EQ(verdict_at(band.surely), Verdict::Fits) << band.surely;
    EXPECT_NE(verdict_at(band.surely + 1), Verdict::Fits) << band.surely;
    EXPECT_NE(verdict_at(band.possibly), Verdict::Oom) << band.possibly;
    EXPECT_EQ(verdict_at(band.possibly + 1), Verdict::Oom) << band.possibly;
  }
}

// Of a small card the overhead, which is not known, is a large part: sizes that are not holes any
// more for long are TIGHT.
TEST(Band, OfASmallCardIsWiderThanTheSearchForHoles) {
  const ModelConfig config = model_named("gpt2-774m");
  GenerationOptions options;
  options.precision = DType::Fp32;
  options.seq = 8;
  options.generate = 11;
  Request request{config, workload_of(options), budget_of_size(5'368'709'120)};
  SizedRuns runs(request, kBatchAxis);
  const Band band = band_around(find_largest(runs), runs);
  const auto verdict_at = [&](std::int64_t batch) {
    set_size(request, kBatchAxis, batch);
    return estimate(request).verdict;
  };
  ASSERT_GT(band.surely, 0);
  EXPECT_EQ(verdict_at(band.surely), Verdict::Fits);
  EXPECT_EQ(verdict_at(band.surely + 1), Verdict::Tight);
}

// Where the card decides what is loaded, one without limits would need less than this one lacks.
TEST(Verdict, WhatDoesNotFitLacksSomething) {
  const auto loaded = [](const char* model, const char* format, std::uint64_t vram) {
    Request request =
        in_pytorch(model, "h100-80gb", false, {{"device-map", "auto"}, {"quant", format}});
    request.budget.vram = vram;
    return estimate(request);
  };
  for (const Estimate& result :
       {loaded("llama3-70b", "int8", 84'000'000'000), loaded("llama3-8b", "fp4", 8'000'000'000)}) {
    EXPECT_FALSE(result.fits);
    EXPECT_LT(result.margin, 0);
  }
}

TEST(Largest, AnAllowanceThatIsSpentStillFindsSomething) {
  const Request request = in_pytorch("mistral-7b", "h200", true, {{"precision", "fp32"}});
  const Largest found = find_largest(request, kSeqAxis, 200'000);
  EXPECT_GT(found.size, 1000);
  EXPECT_GT(found.step, 1);
}

}  // namespace
}  // namespace vramfit
