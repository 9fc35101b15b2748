// What a script keeps of a forward pass: all that it gives, or the loss alone.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtimes/pytorch/cases.h"

namespace vramfit::pytorch {
namespace {

constexpr std::int64_t kVocabulary = 1 << 15;  // logits in whole segments of 2 MiB

ModelConfig llama() {
  return model_of({{"model", "small"},
                   {"arch",
                    {{"model_type", "llama"},
                     {"hidden_size", 256},
                     {"intermediate_size", 512},
                     {"num_hidden_layers", 2},
                     {"num_attention_heads", 4},
                     {"num_key_value_heads", 4},
                     {"vocab_size", kVocabulary},
                     {"max_position_embeddings", 1024}}}});
}

TorchTraining options(DType precision, bool loss_only) {
  TorchTraining options;
  options.precision = precision;
  options.batch = 2;
  options.seq = 512;
  options.loss_only = loss_only;
  return options;
}

std::uint64_t after_forward(const TorchTraining& options) {
  const RunReport report = run(h200(), measured_release(), llama(), options);
  const auto forward =
      std::find_if(report.stages.begin(), report.stages.end(),
                   [](const StageRecord& stage) { return stage.stage == Stage::Forward; });
  return forward->after;
}

class LossOnlyTest : public testing::TestWithParam<DType> {};

TEST_P(LossOnlyTest, LogitsGoBeforeBackward) {
  const TorchTraining kept = options(GetParam(), false);
  const std::uint64_t element = GetParam() == DType::Fp32 ? 4 : 2;
  const auto logits = static_cast<std::uint64_t>(kept.batch * kept.seq * kVocabulary) * element;
  EXPECT_EQ(after_forward(kept) - after_forward(options(GetParam(), true)), logits);
}

INSTANTIATE_TEST_SUITE_P(Precisions, LossOnlyTest, testing::Values(DType::Fp32, DType::Bf16),
                         [](const auto& test) { return std::string(vramfit::name(test.param)); });

TEST(LossOnly, IsHowSeveralGpusTrain) {
  TorchTraining several = options(DType::Bf16, false);
  several.distributed.emplace();
  several.distributed->gpus = 2;
  TorchTraining said = several;
  said.loss_only = true;
  EXPECT_EQ(after_forward(several), after_forward(said));
}

}  // namespace
}  // namespace vramfit::pytorch
