#include "estimator/largest.h"

#include <gtest/gtest.h>

#include "estimator/models.h"
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
    const std::int64_t batch = largest_batch(request);
    ASSERT_GT(batch, 0);
    EXPECT_TRUE(fits_with_batch(request, batch));
    EXPECT_FALSE(fits_with_batch(request, batch + 1));
  }
}

TEST(Largest, NothingFitsIsZero) {
  EXPECT_EQ(largest_batch(training("llama2-7b", "rtx4090")), 0);
  EXPECT_EQ(largest_seq(training("llama2-7b", "rtx4090")), 0);
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
    EXPECT_EQ(largest_batch(request), expected) << mib << " MiB";
  }
}

TEST(Largest, SeqEndsWhereTheModelDoes) {
  EXPECT_EQ(largest_seq(training("gpt2-124m", "h200")), 1024);
  Request request = training("mistral-7b", "h200");
  request.workload = workload_of(GenerationOptions{});
  EXPECT_EQ(largest_seq(request), 4096);
}

TEST(Largest, TheRequestsOwnSizeDoesNotMatter) {
  Request request = training("gpt2-1.5b", "rtx4090");
  const std::int64_t batch = largest_batch(request);
  set_batch(request, 1000);
  EXPECT_EQ(largest_batch(request), batch);
}

}  // namespace
}  // namespace vramfit
