#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "bench/command/selection.h"
#include "bench/rows/sweep.h"
#include "estimator/steady_run.h"
#include "tests/support/workloads.h"

namespace vramfit::bench {
namespace {

class DefaultSweep : public testing::Test {
 protected:
  const std::vector<Row> rows_ = expand(default_sweep());
  Target target_{"virtual:h200", {}};
  Models models_;
  const std::vector<Case> cases_ = select(rows_, {}, Filter(""), target_, models_).cases;
};

// Names join runs across years: rows may be added, never renamed. Those that the article's tables
// are made of are named here.
TEST_F(DefaultSweep, NamesAreUniqueAndTheArticlesStay) {
  std::set<std::string> names;
  for (const Row& row : rows_) {
    EXPECT_TRUE(names.insert(row.name()).second) << row.name();
  }
  for (const char* name : {
           "Training/llama2-7b/fp16/adamw/batch:4/seq:512",
           "Training/llama2-7b/fp16/adamw-same/batch:4/seq:2048/attn:cublas",
           "Inference/llama2-13b/fp32/batch:1/seq:512",
           "KvCache/llama2-7b/bf16/batch:8/seq:2048/generate:32/cache:fp8/block:16/lengths:spread",
           "OomCliff/llama2-7b/fp16/adamw/seq:512/gpu:rtx4090",
           "Ops/llama2-7b/bf16/adamw-same/batch:4/seq:2048",
       }) {
    EXPECT_EQ(names.count(name), 1U) << name;
  }
}

/// Three steps, as fragmentation could build up from one to the next.
RunReport three_steps(const Case& c) {
  if (!c.row[Axis::Optimizer].empty()) {
    return dry_run({c.arch()}, *c.config, training_options(c), 3);
  }
  return dry_run({c.arch()}, *c.config, generation_options(c));
}

TEST_F(DefaultSweep, ThePoolReservesLittleMoreThanIsAllocated) {
  std::vector<double> ratios;
  for (const Case& c : cases_) {
    const RunReport report = three_steps(c);
    const auto allocated = static_cast<double>(report.peak.allocated);
    const auto reserved = static_cast<double>(report.reserved);
    EXPECT_LE(reserved, 1.04 * allocated + 4 * 1024 * 1024)
        << c.row.name() << ": " << reserved / allocated;
    ratios.push_back(reserved / allocated);
  }
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  EXPECT_LE(*middle, 1.02);
}

TEST_F(DefaultSweep, MoreStepsNeedNoMoreThanARowSays) {
  for (const Case& c : cases_) {
    if (c.row[Axis::Optimizer].empty()) continue;
    const RunReport said = steady_run({c.arch()}, *c.config, training_options(c));
    const RunReport long_run = dry_run({c.arch()}, *c.config, training_options(c), 6);
    EXPECT_EQ(said.peak.allocated, long_run.peak.allocated) << c.row.name();
    EXPECT_EQ(said.reserved, long_run.reserved) << c.row.name();
  }
}

}  // namespace
}  // namespace vramfit::bench
