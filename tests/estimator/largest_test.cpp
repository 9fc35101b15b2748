#include "estimator/largest.h"

#include <gtest/gtest.h>

#include "estimator/models.h"
#include "estimator/runtimes.h"
#include "tests/support/workloads.h"

namespace vramfit {
namespace {

Request training(const char* model, const char* card) {
  TrainingOptions options;
  options.seq = 512;
  return {model_named(model), workload_of(options), budget_of(card_named(card))};
}

bool fits_with_batch(Request request, std::int64_t batch) {
  set_batch(request, batch);
  return fits(request);
}

TEST(Largest, BatchFitsAndOneMoreDoesNot) {
  for (const char* card : {"rtx4090", "a100-40gb", "h200"}) {
    const Request request = training("gpt2-1.5b", card);
    const std::int64_t batch = find_largest(request, Size::Batch).size;
    ASSERT_GT(batch, 0);
    EXPECT_TRUE(fits_with_batch(request, batch));
    EXPECT_FALSE(fits_with_batch(request, batch + 1));
  }
}

TEST(Largest, NothingFitsIsZero) {
  EXPECT_EQ(find_largest(training("llama2-7b", "rtx4090"), Size::Batch).size, 0);
  EXPECT_EQ(find_largest(training("llama2-7b", "rtx4090"), Size::Seq).size, 0);
}

// Every capacity around the place where what is mapped shrinks as the batch grows.
TEST(Largest, IsTheLargestOfAllThatFit) {
  Request request = training("gpt2-124m", "rtx4090");
  for (std::uint64_t mib = 540; mib <= 800; mib += 10) {
    request.budget.vram = request.budget.overhead.total() + (mib << 20);
    std::int64_t expected = 0;
    for (std::int64_t batch = 1; batch <= 24; ++batch) {
      set_seq(request, 100);
      if (fits_with_batch(request, batch)) expected = batch;
    }
    ASSERT_LT(expected, 24);
    EXPECT_EQ(find_largest(request, Size::Batch).size, expected) << mib << " MiB";
  }
}

TEST(Largest, SeqEndsWhereTheModelDoes) {
  EXPECT_EQ(find_largest(training("gpt2-124m", "h200"), Size::Seq).size, 1024);
  Request request = training("mistral-7b", "h200");
  request.workload = workload_of(GenerationOptions{});
  EXPECT_EQ(find_largest(request, Size::Seq).size, 4096);
}

TEST(Largest, TheRequestsOwnSizeDoesNotMatter) {
  Request request = training("gpt2-1.5b", "rtx4090");
  const std::int64_t batch = find_largest(request, Size::Batch).size;
  set_batch(request, 1000);
  EXPECT_EQ(find_largest(request, Size::Batch).size, batch);
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
  const Largest found = find_largest(request, Size::Batch);
  EXPECT_GE(found.size, 8);
  ASSERT_TRUE(found.holes.has_value());
  EXPECT_EQ(*found.holes, std::vector<std::int64_t>{1});
}

// Against every size one by one.
TEST(Largest, NamesTheHolesBelow) {
  const Request request = in_pytorch("llama2-7b", "rtx4090", false, {{"seq", "128"}});
  const Largest found = find_largest(request, Size::Batch);
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

// Of its decode steps few are walked until the answer is near.
TEST(Largest, ALongGenerationsAnswerHoldsForAllOfIt) {
  for (const char* card : {"rtx3070", "rtx4090"}) {
    const Request request = in_pytorch("qwen2-0.5b", card, false, {{"generate", "16"}});
    const Largest found = find_largest(request, Size::Batch);
    EXPECT_LE(found.step, 1 + found.size / 64);
    EXPECT_TRUE(fits_with_batch(request, found.size)) << found.size;
    EXPECT_FALSE(fits_with_batch(request, found.next)) << found.size;
  }
}

TEST(Largest, AnAllowanceThatIsSpentStillFindsSomething) {
  const Request request = in_pytorch("mistral-7b", "h200", true, {{"precision", "fp32"}});
  const Largest found = find_largest(request, Size::Seq, 200'000);
  EXPECT_GT(found.size, 1000);
  EXPECT_GT(found.step, 1);
}

}  // namespace
}  // namespace vramfit
