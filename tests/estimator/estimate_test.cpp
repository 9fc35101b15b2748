#include "estimator/estimate.h"

#include <gtest/gtest.h>

#include <limits>

#include "estimator/card_names.h"
#include "estimator/models.h"
#include "estimator/steady_run.h"
#include "model/config/hugging_face.h"
#include "model/memory/pool.h"
#include "model/transformer/sizes.h"
#include "tests/support/expect_bad_input.h"
#include "tests/support/workloads.h"

namespace vramfit {
namespace {

Request training(const char* model, const char* optimizer, DType precision, std::int64_t batch,
                 std::int64_t seq) {
  TrainingOptions options;
  options.optimizer = optimizer_named(optimizer);
  options.precision = precision;
  options.batch = batch;
  options.seq = seq;
  return {model_named(model), workload_of(options), budget_of(card_named("h200"))};
}

Request inference(const char* model, std::int64_t batch, std::int64_t seq) {
  GenerationOptions options;
  options.batch = batch;
  options.seq = seq;
  options.generate = 4;
  return {model_named(model), workload_of(options), budget_of(card_named("rtx4090"))};
}

std::vector<Request> samples() {
  return {training("gpt2-124m", "adamw-master", DType::Fp16, 3, 512),
          training("gpt2-1.5b", "adamw", DType::Bf16, 3, 512),
          training("tinyllama-1.1b", "sgd", DType::Fp32, 2, 300),
          training("llama2-7b", "adamw", DType::Fp16, 4, 512),
          inference("qwen2-0.5b", 8, 1000),
          inference("llama2-13b", 1, 2048)};
}

/// The budget's size at which exactly `capacity` bytes may be mapped.
Request with_capacity(Request request, std::uint64_t capacity) {
  request.budget.vram = capacity + request.budget.overhead.total();
  return request;
}

TEST(Estimate, TheCapacityBoundaryIsExact) {
  for (const Request& request : samples()) {
    SCOPED_TRACE(request.model.name);
    const std::uint64_t reserved = estimate(request).levels.reserved;

    const Request enough = with_capacity(request, reserved);
    EXPECT_EQ(enough.budget.capacity(), reserved);
    EXPECT_TRUE(estimate(enough).fits);
    EXPECT_TRUE(fitting(enough).fits);
    EXPECT_EQ(estimate(enough).margin, 0);

    const Request short_by_one = with_capacity(request, reserved - 1);
    EXPECT_FALSE(estimate(short_by_one).fits);
    EXPECT_FALSE(fitting(short_by_one).fits);
    EXPECT_EQ(estimate(short_by_one).margin, -1);

    const Request short_by_a_granule = with_capacity(request, reserved - Pool::kGranularity);
    EXPECT_FALSE(fitting(short_by_a_granule).fits);
  }
}

// `fits` is what the unlimited run says; a run on that very card must say the same.
TEST(Estimate, TheVerdictIsThatOfARunWithinTheCapacity) {
  for (const Request& request : samples()) {
    const std::uint64_t reserved = estimate(request).levels.reserved;
    for (const double part : {0.0, 0.1, 0.5, 0.9, 0.999, 1.0, 1.001, 3.0}) {
      const auto capacity = static_cast<std::uint64_t>(part * static_cast<double>(reserved));
      const Request limited = with_capacity(request, capacity);
      SCOPED_TRACE(request.model.name + " at " + std::to_string(part));
      const Estimate result = estimate(limited);
      EXPECT_EQ(result.fits, fitting(limited).fits);
      EXPECT_EQ(result.fits, !result.missing.has_value());
      EXPECT_EQ(result.fits, result.margin >= 0);
      EXPECT_EQ(result.levels.reserved, reserved);
    }
  }
}

TEST(Estimate, IsTheSameWhereItsEndIsUntold) {
  Request request = training("llama2-7b", "adamw", DType::Fp16, 4, 512);
  request.budget = budget_of(card_named("rtx4090"));
  const Estimate told = estimate(request);
  const Estimate untold = estimate(request, OomDetail::Untold);
  EXPECT_TRUE(told.missing.has_value());
  EXPECT_FALSE(untold.missing.has_value());
  EXPECT_FALSE(untold.fits);
  EXPECT_EQ(untold.verdict, told.verdict);
  EXPECT_EQ(untold.total, told.total);
  EXPECT_EQ(untold.margin, told.margin);
}

TEST(Estimate, NamesTheAllocationThatALimitedRunEndsAt) {
  const Request request = training("llama2-7b", "adamw", DType::Fp16, 4, 512);
  Request limited = request;
  limited.budget = budget_of(card_named("rtx4090"));
  const Estimate result = estimate(limited);
  ASSERT_TRUE(result.missing.has_value());
  const RunReport run = dry_run({limited.budget.arch, limited.budget.capacity()}, limited.model,
                                options_of<TrainingOptions>(limited));
  ASSERT_TRUE(run.missing.has_value());
  EXPECT_EQ(result.missing->name, run.missing->name);
  EXPECT_EQ(result.missing->stage, run.missing->stage);
  EXPECT_EQ(result.missing->step, run.missing->step);
  EXPECT_EQ(result.missing->requested, run.missing->requested);
}

// Parameters, gradients and m and v of a 7B in 16 bits with fp32 moments: 2 + 2 + 8 B/param.
TEST(Estimate, TwelveBytesAParameterAfterTheFirstOptimizerStep) {
  for (const DType precision : {DType::Fp16, DType::Bf16}) {
    const RunReport run =
        dry_run({Arch{90}}, model_named("llama2-7b"),
                options_of<TrainingOptions>(training("llama2-7b", "adamw", precision, 4, 512)));
    const auto is_first_optimizer_step = [](const StageRecord& record) {
      return record.stage == Stage::Optimizer && record.step == 1;
    };
    const auto record = std::find_if(run.stages.begin(), run.stages.end(), is_first_optimizer_step);
    ASSERT_NE(record, run.stages.end());
    const CategoryBytes& at_end = record->at_end;
    EXPECT_EQ(at_end[Category::Parameters] + at_end[Category::Gradients] +
                  at_end[Category::OptimizerState],
              12U * 6'738'415'616U);
  }
}

TEST(Estimate, ThePeakIsMadeOfItsComponents) {
  for (const Request& request : samples()) {
    SCOPED_TRACE(request.model.name);
    const Estimate result = estimate(request);
    EXPECT_EQ(result.peak.by_category.total(), result.levels.allocated);
    EXPECT_GE(result.levels.reserved, result.levels.allocated);
    EXPECT_EQ(result.levels.reserved % Pool::kGranularity, 0U);
    const Overhead& overhead = request.budget.overhead;
    EXPECT_EQ(result.levels.device_used,
              result.levels.reserved + overhead.context + overhead.libraries);
    EXPECT_EQ(result.total, result.levels.reserved + overhead.total());
    std::uint64_t highest = 0;
    for (const StageRecord& record : result.stages) highest = std::max(highest, record.peak);
    EXPECT_EQ(highest, result.levels.allocated);
  }
}

TEST(Estimate, LargerBatchesAndSequencesNeedMore) {
  for (Request request : samples()) {
    SCOPED_TRACE(request.model.name);
    std::uint64_t before = 0;
    for (const std::int64_t batch : {1, 2, 3, 5, 8, 13, 64}) {
      set_size(request, kBatchAxis, batch);
      EXPECT_GE(estimate(request).levels.allocated, before) << "batch " << batch;
      before = estimate(request).levels.allocated;
    }
    before = 0;
    for (const std::int64_t seq : {1, 2, 127, 128, 129, 500, 1000}) {
      set_size(request, kSeqAxis, seq);
      EXPECT_GE(estimate(request).levels.allocated, before) << "seq " << seq;
      before = estimate(request).levels.allocated;
    }
  }
}

TEST(Estimate, HeadroomIsTakenOffTheMargin) {
  Request request = inference("llama2-7b", 1, 512);
  const Estimate without = estimate(request);
  request.budget.headroom = static_cast<std::uint64_t>(without.margin);
  EXPECT_EQ(estimate(request).margin, 0);
  EXPECT_EQ(estimate(request).total, without.total);
  EXPECT_TRUE(estimate(request).fits);
  request.budget.headroom += 1;
  EXPECT_FALSE(estimate(request).fits);
}

TEST(Estimate, NotesSayWhatIsLeftOut) {
  Request request = training("gpt2-124m", "sgd", DType::Bf16, 1, 128);
  const auto has = [](const Estimate& result, const char* part) {
    return std::any_of(result.notes.begin(), result.notes.end(), [&](const std::string& note) {
      return note.find(part) != std::string::npos;
    });
  };
  EXPECT_TRUE(has(estimate(request), "dropout"));
  EXPECT_FALSE(has(estimate(request), "micro-batches"));
  change_options<TrainingOptions>(request, [](auto& o) { o.accumulate = 500; });
  EXPECT_TRUE(has(estimate(request), "of 500 micro-batches"));

  Request longer = inference("llama2-7b", 1, 4096);
  EXPECT_TRUE(
      has(estimate(longer), "tokens are more than its config's max_position_embeddings, 4096"));
  EXPECT_TRUE(has(estimate(longer), "2 of 3 decode steps"));
  set_size(longer, kSeqAxis, 4093);
  EXPECT_FALSE(has(estimate(longer), "more positions"));
}

constexpr const char* kHugeModel = R"({
  "model_type": "llama", "hidden_size": 1048576, "num_attention_heads": 8192,
  "num_hidden_layers": 100, "intermediate_size": 4194304, "vocab_size": 16777216,
  "max_position_embeddings": 1048576})";

TEST(Estimate, AbsurdSizesAreBadInput) {
  Request request = training("llama2-7b", "adamw", DType::Bf16, kMaxBatch, kMaxSeq);
  request.model = parse_hugging_face(kHugeModel, "huge");
  expect_bad_input([&] { estimate(request); }, {"sizes"});
  set_size(request, kBatchAxis, 1);
  change_options<TrainingOptions>(request, [](auto& o) { o.attention = AttentionForm::Cublas; });
  expect_bad_input([&] { estimate(request); }, {"sizes"});

  for (const std::int64_t size :
       {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()}) {
    Request wrong = inference("llama2-7b", size, 128);
    expect_bad_input([&] { estimate(wrong); }, {"batch"});
    wrong = inference("llama2-7b", 1, size);
    expect_bad_input([&] { estimate(wrong); }, {"seq"});
  }
}

TEST(Estimate, AHugeModelIsOnlyTooLarge) {
  Request request = inference("llama2-7b", 1, 2048);
  request.model = parse_hugging_face(kHugeModel, "huge");
  const Estimate result = estimate(request);
  EXPECT_FALSE(result.fits);
  EXPECT_LT(result.margin, -1'000'000'000'000'000);
}

}  // namespace
}  // namespace vramfit
