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
// activation wants all of it; but for the first block's first norm, before which backward ends.
TEST(LoraMemory, BlocksKeepWhatTheyKeepWithoutAdapters) {
  const ModelConfig config = published("llama2-7b");
  TrainingOptions options = adapted(config, DType::Bf16);
  const auto kept = [&] {
    return stage_of(trained(config, options), Stage::Forward, 1).at_end[Category::Activations];
  };
  const std::uint64_t with = kept();
  options.lora.reset();
  EXPECT_EQ(with + 4ULL * 4 * 512, kept());
}

TEST(LoraMemory, NothingOfFrozenEmbeddingAndHeadIsMade) {
  const ModelConfig config = published("llama2-7b");
  for (const Event& event : trained(config, adapted(config, DType::Bf16)).events) {
    EXPECT_STRNE(event.name.base(), "head_gradient");
    EXPECT_STRNE(event.name.base(), "embedding_workspace");
    EXPECT_STRNE(event.name.base(), "norm_partials");
  }
}

/// What backward of step 1 allocates in the first block, and "-dx" where that is freed.
std::vector<std::string> end_of_backward(const std::string& target) {
  const ModelConfig config = published("llama2-7b");
  TrainingOptions options = adapted(config, DType::Bf16);
  options.lora->targets = {target};
  std::vector<std::string> names;
  for (const Event& event : trained(config, options).events) {
    if (event.stage != Stage::Backward || event.step != 1) continue;
    const std::string name = event.name.text();
    if (event.kind == Event::Kind::Free && name == "dx") names.emplace_back("-dx");
    if (event.kind == Event::Kind::Allocate && name.starts_with("layers.0.")) {
      names.push_back(name.substr(9));
    }
  }
  return names;
}

// The gradient of a block's input is nobody's business where all before it is frozen, and so is
// that of the block's parts.
TEST(LoraMemory, BackwardEndsAtTheFirstAdapters) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(end_of_backward("down_proj"),
            (Names{"act", "lora_du", "down.lora_a", "down.lora_b", "lora_u", "-dx"}));
  EXPECT_EQ(end_of_backward("up_proj"),
            (Names{"act", "-dx", "norm2", "lora_du", "up.lora_a", "up.lora_b", "lora_u"}));
  EXPECT_EQ(end_of_backward("o_proj"),
            (Names{"act", "norm2", "lora_du", "out.lora_a", "out.lora_b", "lora_u", "-dx"}));
  EXPECT_EQ(end_of_backward("q_proj"),
            (Names{"act", "norm2", "d_attention", "-dx", "d_qkv", "attention_workspace", "norm1",
                   "lora_du", "qkv.lora_a", "qkv.lora_b", "lora_u"}));
}

}  // namespace
}  // namespace vramfit
