#include <gtest/gtest.h>

#include "tests/model/published_models.h"
#include "tests/model/transformer/runs.h"

namespace vramfit {
namespace {

TrainingOptions options_for(DType precision, AttentionForm attention, std::int64_t batch,
                            std::int64_t seq) {
  TrainingOptions options;
  options.precision = precision;
  options.attention = attention;
  options.batch = batch;
  options.seq = seq;
  return options;
}

std::uint64_t activations_after_forward(const ModelConfig& config, const TrainingOptions& options) {
  return stage_of(trained(config, options, 1), Stage::Forward, 1).at_end[Category::Activations];
}

/// Bytes a token that one layer more makes forward keep.
double kept_by_a_layer(const std::string& name, const TrainingOptions& options) {
  const std::uint64_t two = activations_after_forward(shallow(name, 2), options);
  const std::uint64_t three = activations_after_forward(shallow(name, 3), options);
  return static_cast<double>(three - two) / static_cast<double>(options.batch * options.seq);
}

// The marks of the design, to the byte.
TEST(KeptActivations, OfLlama2And16Bits) {
  for (const DType precision : {DType::Bf16, DType::Fp16}) {
    for (const std::int64_t batch : {1, 4}) {
      for (const std::int64_t seq : {512, 2048}) {
        EXPECT_EQ(
            kept_by_a_layer("llama2-7b", options_for(precision, AttentionForm::Flash, batch, seq)),
            93'320);
      }
    }
  }
}

// What the activation is computed from takes half; a block's scales are there as well.
TEST(KeptActivations, OfLlama2AndFp8) {
  TrainingOptions options = options_for(DType::Bf16, AttentionForm::Flash, 4, 2048);
  options.precision = parse_model_precision("fp8");
  EXPECT_EQ(kept_by_a_layer("llama2-7b", options) * 8192, (93'320.0 - 22'016.0) * 8192 + 208);
}

TEST(KeptActivations, OfGpt2And16Bits) {
  EXPECT_EQ(kept_by_a_layer("gpt2-1.5b", options_for(DType::Bf16, AttentionForm::Flash, 8, 1024)),
            32'116);
}

TEST(KeptActivations, OfEveryModelFollowFromItsShape) {
  for (const std::string& name : runnable_names()) {
    const ModelConfig c = published(name);
    const double h = static_cast<double>(c.hidden);
    const double ad = static_cast<double>(c.heads * c.head_dim);
    const double kd = static_cast<double>(c.kv_heads * c.head_dim);
    const double a = static_cast<double>(c.heads);
    const double f = static_cast<double>(c.ffn);
    for (const DType precision : {DType::Bf16, DType::Fp32}) {
      const double e = precision == DType::Fp32 ? 2 : 1;  // statistics are fp32 in either
      const double head_norms = c.qk_norm == QkNorm::None
                                    ? 0
                                    : e * 2 * (ad + kd) + 4 * (a + static_cast<double>(c.kv_heads));
      const double expected = c.learned_positions()
                                  ? e * 20 * h + 4 * a + 16
                                  : e * (4 * h + 4 * ad + 4 * kd + 4 * f) + 4 * a + 8;
      EXPECT_EQ(kept_by_a_layer(name, options_for(precision, AttentionForm::Flash, 2, 256)),
                expected + head_norms)
          << name;
    }
  }
}

TEST(KeptActivations, CublasKeepsProbabilitiesInsteadOfRowStatistics) {
  for (const std::string& name : every_kind_of_model()) {
    const double a = static_cast<double>(published(name).heads);
    for (const std::int64_t seq : {128, 512}) {
      const double flash =
          kept_by_a_layer(name, options_for(DType::Fp16, AttentionForm::Flash, 2, seq));
      const double cublas =
          kept_by_a_layer(name, options_for(DType::Fp16, AttentionForm::Cublas, 2, seq));
      EXPECT_EQ(cublas - flash, 2 * a * static_cast<double>(seq) - 4 * a) << name << " " << seq;
    }
  }
}

TEST(KeptActivations, OfCheckpointing) {
  TrainingOptions options = options_for(DType::Bf16, AttentionForm::Flash, 4, 2048);
  const ModelConfig config = published("llama2-7b");
  options.checkpointing.kind = Checkpoint::Full;
  EXPECT_EQ(kept_by_a_layer("llama2-7b", options), 2.0 * static_cast<double>(config.hidden));
  options.checkpointing.kind = Checkpoint::Selective;
  // All but what the activation is computed from, and the statistics of the norm before.
  EXPECT_EQ(kept_by_a_layer("llama2-7b", options),
            93'320 - 4.0 * static_cast<double>(config.ffn) - 4);
}

// Of four blocks the first and the third, and all of the other two.
TEST(KeptActivations, OfCheckpointingEverySecondBlock) {
  TrainingOptions options = options_for(DType::Bf16, AttentionForm::Flash, 4, 512);
  const std::uint64_t none = activations_after_forward(shallow("llama2-7b", 4), options);
  options.checkpointing = {Checkpoint::Full, 1};
  const std::uint64_t full = activations_after_forward(shallow("llama2-7b", 4), options);
  options.checkpointing.every = 2;
  EXPECT_EQ(2 * activations_after_forward(shallow("llama2-7b", 4), options), none + full);
}

TEST(KeptActivations, AreAllThatForwardLeaves) {
  for (const std::string& name : every_kind_of_model()) {
    for (const TrainingOptions& options : every_kind_of_training()) {
      const RunReport report = trained(shallow(name), options, 2);
      for (const int step : {1, 2}) {
        const StageRecord forward = stage_of(report, Stage::Forward, step);
        EXPECT_EQ(forward.after - forward.before, forward.at_end[Category::Activations]);
      }
    }
  }
}

TEST(KeptActivations, AreGoneWhenBackwardEnds) {
  for (const std::string& name : every_kind_of_model()) {
    for (const TrainingOptions& options : every_kind_of_training()) {
      for (const StageRecord& record : trained(shallow(name), options).stages) {
        if (record.stage == Stage::Forward) continue;
        EXPECT_EQ(record.at_end[Category::Activations], 0U)
            << name << ", " << vramfit::name(record.stage) << " of step " << record.step;
      }
    }
  }
}

// Backward needs room for one layer at a time beside what forward kept: its demand over what is
// kept does not grow with depth.
TEST(KeptActivations, BackwardFreesAsItGoes) {
  TrainingOptions options = options_for(DType::Bf16, AttentionForm::Flash, 4, 2048);
  const auto most_at_once = [&](std::int64_t layers) {
    std::uint64_t now = 0;
    std::uint64_t most = 0;
    for (const Event& event : trained(shallow("llama2-7b", layers), options, 1).events) {
      if (event.category != Category::Activations) continue;
      if (event.kind == Event::Kind::Allocate) now += event.bytes;
      if (event.kind == Event::Kind::Free) now -= event.bytes;
      most = std::max(most, now);
    }
    return most;
  };
  const auto tokens = static_cast<std::uint64_t>(options.batch * options.seq);
  const std::uint64_t eight = most_at_once(8);
  EXPECT_EQ(most_at_once(9) - eight, tokens * 93'320);
  EXPECT_EQ(most_at_once(16) - eight, 8 * tokens * 93'320);
}

}  // namespace
}  // namespace vramfit
