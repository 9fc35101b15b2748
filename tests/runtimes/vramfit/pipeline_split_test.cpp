#include "runtimes/vramfit/pipeline_split.h"

#include <gtest/gtest.h>

#include <numeric>

#include "estimator/models.h"
#include "runtimes/vramfit/dry_run.h"

namespace vramfit {
namespace {

constexpr Arch kArch{90};

TrainingOptions of_stages(std::int64_t ranks) {
  TrainingOptions options;
  options.optimizer = optimizer_named("adamw-same");
  options.seq = 1024;
  options.accumulate = 2 * ranks;
  options.mesh = {Strategy::Pipeline, ranks, 0};
  return options;
}

std::uint64_t most_reserved(const ModelConfig& config, TrainingOptions options) {
  std::uint64_t most = 0;
  for (options.mesh.rank = 0; options.mesh.rank < options.mesh.ranks; ++options.mesh.rank) {
    most = std::max(most, dry_run({kArch}, config, options, kDefaultSteps, false).reserved);
  }
  return most;
}

TEST(PipelineSplit, TakesLeastOfAllSplitsOverTwo) {
  const ModelConfig config = model_named("tinyllama-1.1b");
  const TrainingOptions options = of_stages(2);
  const std::uint64_t split = most_reserved(config, with_split(kArch, config, options));
  for (std::int64_t first = 1; first < config.layers; ++first) {
    TrainingOptions other = options;
    other.mesh.stage_blocks = {first, config.layers - first};
    EXPECT_LE(split, most_reserved(config, other)) << first;
  }
}

TEST(PipelineSplit, NamesTheFullest) {
  const ModelConfig config = model_named("gpt2-1.5b");
  const TrainingOptions options = of_stages(5);
  const PipelineSplit split = split_by_memory(kArch, config, options);
  ASSERT_EQ(split.blocks.size(), 5U);
  EXPECT_EQ(std::accumulate(split.blocks.begin(), split.blocks.end(), std::int64_t{0}),
            config.layers);
  TrainingOptions fullest = options;
  fullest.mesh.stage_blocks = split.blocks;
  fullest.mesh.rank = split.fullest;
  EXPECT_EQ(dry_run({kArch}, config, fullest).reserved,
            most_reserved(config, with_split(kArch, config, options)));
}

TEST(PipelineSplit, LeavesOtherStrategiesAlone) {
  TrainingOptions options;
  options.mesh = {Strategy::Fsdp, 4, 1};
  const TrainingOptions same = with_split(kArch, model_named("tinyllama-1.1b"), options);
  EXPECT_TRUE(same.mesh.stage_blocks.empty());
  EXPECT_EQ(same.mesh.rank, 1);
}

}  // namespace
}  // namespace vramfit
