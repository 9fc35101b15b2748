#include "runtimes/vramfit/pipeline_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

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

// Gaps may make a rank that has a block more reserve less.
TEST(PipelineSplit, TakesLeastOfAllSplitsOverThreeBesideAdapters) {
  const ModelConfig config = model_named("smollm-360m");
  for (const std::int64_t adapters : {16, 32}) {
    TrainingOptions options = of_stages(3);
    options.lora = LoraOptions{.rank = adapters, .targets = usual_lora_targets(config)};
    std::array<std::vector<std::uint64_t>, 3> reserved;  // of each rank, by its blocks
    for (std::size_t rank = 0; rank < 3; ++rank) {
      reserved[rank] = {0};
      for (std::int64_t blocks = 1; blocks + 2 <= config.layers; ++blocks) {
        TrainingOptions other = options;
        other.mesh.rank = static_cast<std::int64_t>(rank);
        other.mesh.stage_blocks.assign(3, 1);
        other.mesh.stage_blocks[(rank + 1) % 3] = config.layers - blocks - 1;
        other.mesh.stage_blocks[rank] = blocks;
        reserved[rank].push_back(dry_run({kArch}, config, other, kDefaultSteps, false).reserved);
      }
    }
    std::uint64_t least = ~std::uint64_t{0};
    const auto layers = static_cast<std::size_t>(config.layers);
    for (std::size_t first = 1; first + 2 <= layers; ++first) {
      for (std::size_t second = 1; first + second + 1 <= layers; ++second) {
        least = std::min(least, std::max({reserved[0][first], reserved[1][second],
                                          reserved[2][layers - first - second]}));
      }
    }
    EXPECT_EQ(most_reserved(config, with_split(kArch, config, options)), least) << adapters;
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
