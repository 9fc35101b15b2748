#include <gtest/gtest.h>

#include "model/transformer/parameters.h"
#include "tests/model/published_models.h"
#include "tests/model/transformer/runs.h"

namespace vramfit {
namespace {

TrainingOptions adapted(const ModelConfig& config, ModelPrecision precision) {
  TrainingOptions options;
  options.precision = precision;
  options.lora = LoraOptions{16, 16.0F, usual_lora_targets(config)};
  options.batch = 4;
  options.seq = 512;
  return options;
}

/// Rank 16 beside q and v of 7B: 32 · 2 · 16 · (4096 + 4096).
constexpr std::uint64_t kAdapters = 8'388'608;

TEST(LoraMemory, GradientsAndStatesAreOfAdaptersAlone) {
  const ModelConfig config = published("llama2-7b");
  const RunReport report = trained(config, adapted(config, DType::Bf16));
  const CategoryBytes after = stage_of(report, Stage::Optimizer, 1).at_end;
  const auto model = static_cast<std::uint64_t>(stored_parameter_count(config));
  EXPECT_EQ(after[Category::Parameters], 2 * (model + kAdapters));
  EXPECT_EQ(after[Category::Gradients], 2 * kAdapters);
  EXPECT_EQ(after[Category::OptimizerState], 8 * kAdapters);
}

// 32 blocks of 4 · 4096² + 3 · 4096 · 11008 elements of linears; embeddings, norms and head as
// ever.
TEST(LoraMemory, QuantisedWeightsTakeWhatTheirFormatSays) {
  const ModelConfig config = published("llama2-7b");
  const std::uint64_t linears = 32ULL * (4ULL * 4096 * 4096 + 3ULL * 4096 * 11008);
  const std::uint64_t rows = 32ULL * (4ULL * 4096 + 2ULL * 11008 + 4096);
  const auto rest = static_cast<std::uint64_t>(stored_parameter_count(config)) - linears;
  const std::pair<const char*, std::uint64_t> cases[] = {
      {"nf4", linears * 9 / 16}, {"int8", linears + 4 * rows}, {"fp8", linears + 4 * rows}};
  for (const auto& [precision, bytes] : cases) {
    const RunReport report = trained(config, adapted(config, parse_model_precision(precision)));
    EXPECT_EQ(stage_of(report, Stage::Loaded, 0).at_end[Category::Parameters],
              bytes + 2 * (rest + kAdapters))
        << precision;
    EXPECT_EQ(stage_of(report, Stage::Optimizer, 1).at_end[Category::Gradients], 2 * kAdapters);
  }
}

// What a block keeps is not about which weights are trained: backward of norms, attention and
// activation wants all of it.
TEST(LoraMemory, BlocksKeepWhatTheyKeepWithoutAdapters) {
  const ModelConfig config = published("llama2-7b");
  TrainingOptions options = adapted(config, DType::Bf16);
  const auto kept = [&] {
    return stage_of(trained(config, options), Stage::Forward, 1).at_end[Category::Activations];
  };
  const std::uint64_t with = kept();
  options.lora.reset();
  EXPECT_EQ(with, kept());
}

TEST(LoraMemory, NothingOfFrozenEmbeddingAndHeadIsMade) {
  const ModelConfig config = published("llama2-7b");
  for (const Event& event : trained(config, adapted(config, DType::Bf16)).events) {
    EXPECT_STRNE(event.name.base(), "head_gradient");
    EXPECT_STRNE(event.name.base(), "embedding_workspace");
    EXPECT_STRNE(event.name.base(), "norm_partials");
  }
}

}  // namespace
}  // namespace vramfit
