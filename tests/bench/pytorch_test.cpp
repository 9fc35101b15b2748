#include "bench/families/pytorch.h"

#include <gtest/gtest.h>

#include "bench/rows/families.h"
#include "estimator/card_names.h"
#include "estimator/models.h"

namespace vramfit::bench {
namespace {

pytorch::TorchTraining asked(const char* optimizer, DType precision = DType::Bf16) {
  TrainingOptions ours;
  ours.optimizer = optimizer_named(optimizer);
  ours.precision = precision;
  ours.attention = AttentionForm::Cublas;
  ours.batch = 3;
  ours.seq = 100;
  ours.accumulate = 2;
  return in_pytorch(ours);
}

TEST(InPytorch, OptimizersAreThoseOfTheSameName) {
  using Kind = pytorch::TorchOptimizer;
  EXPECT_EQ(asked("sgd").optimizer, Kind::Sgd);
  EXPECT_EQ(asked("sgd-momentum").optimizer, Kind::SgdMomentum);
  EXPECT_EQ(asked("adamw").optimizer, Kind::AdamW);
  EXPECT_EQ(asked("adamw-same").optimizer, Kind::AdamWFused);
  EXPECT_EQ(asked("sgd-master").optimizer, Kind::Sgd);
  EXPECT_EQ(asked("adamw-master").optimizer, Kind::AdamWFused);
}

TEST(InPytorch, MastersAreFp32WeightsUnderAutocast) {
  for (const char* optimizer : {"sgd-master", "adamw-master"}) {
    EXPECT_EQ(asked(optimizer, DType::Fp16).precision, DType::Fp32);
    EXPECT_EQ(asked(optimizer, DType::Fp16).autocast, DType::Fp16);
  }
  EXPECT_EQ(asked("adamw").precision, DType::Bf16);
  EXPECT_EQ(asked("adamw").autocast, std::nullopt);
}

TEST(InPytorch, TheRestIsAsked) {
  const pytorch::TorchTraining options = asked("sgd");
  EXPECT_EQ(options.attention, pytorch::AttentionKind::Eager);
  EXPECT_EQ(options.batch, 3);
  EXPECT_EQ(options.seq, 100);
  EXPECT_EQ(options.accumulate, 2);
  EXPECT_EQ(options.checkpoint, pytorch::GradientCheckpointing::None);
  EXPECT_FALSE(options.lora);
  GenerationOptions ours;
  ours.generate = 7;
  EXPECT_EQ(in_pytorch(ours).generate, 7);
  EXPECT_EQ(in_pytorch(ours).attention, pytorch::AttentionKind::Sdpa);
}

class PytorchCounters : public testing::Test {
 protected:
  Counters counted(const char* row, const char* card) const {
    const Row parsed = parse_row(row);
    const Case c{parsed, &model_, card == nullptr ? nullptr : &card_named(card), nullptr};
    Result result = parsed.family->run(c, {});
    return result.counters;
  }
  static bool has(const Counters& counters, const std::string& name) {
    return counters.values().count(name) == 1;
  }

  ModelConfig model_ = model_named("tinyllama-1.1b");
};

TEST_F(PytorchCounters, StandInEveryRow) {
  for (const char* row : {"Training/tinyllama-1.1b/bf16/adamw-same/batch:2/seq:128",
                          "Inference/tinyllama-1.1b/bf16/batch:2/seq:128",
                          "KvCache/tinyllama-1.1b/bf16/batch:2/seq:128",
                          "OomCliff/tinyllama-1.1b/bf16/sgd/seq:512/gpu:rtx4090"}) {
    const Counters counters = counted(row, "rtx4090");
    const auto& values = counters.values();
    for (const char* level : {"pytorch_allocated", "pytorch_reserved", "pytorch_device_used"}) {
      ASSERT_TRUE(has(counters, level)) << row;
    }
    EXPECT_GT(values.at("pytorch_allocated"), values.at("pytorch_parameters")) << row;
    EXPECT_GE(values.at("pytorch_reserved"), values.at("pytorch_allocated")) << row;
    EXPECT_GT(values.at("pytorch_device_used"), values.at("pytorch_reserved")) << row;
  }
}

TEST_F(PytorchCounters, OfTrainingHoldItsStages) {
  const Counters counters =
      counted("Training/tinyllama-1.1b/bf16/adamw/batch:2/seq:128", "rtx4090");
  for (const char* stage : {"step1_loaded", "step1_forward", "step1_backward", "step1_optimizer",
                            "step1_zero_grad", "step2_forward", "step2_zero_grad"}) {
    EXPECT_TRUE(has(counters, std::string("pytorch_") + stage + "_after")) << stage;
    EXPECT_TRUE(has(counters, std::string("pytorch_") + stage + "_peak")) << stage;
  }
}

TEST_F(PytorchCounters, OfACliffSayWhatFitsInPytorch) {
  const char* row = "OomCliff/tinyllama-1.1b/bf16/adamw-same/seq:512/gpu:rtx4090";
  const Counters counters = counted(row, "rtx4090");
  const double largest = counters.values().at("pytorch_max_batch");
  EXPECT_GT(largest, 0);
  EXPECT_LT(largest, counters.values().at("pred_max_batch")) << "PyTorch keeps more";
}

}  // namespace
}  // namespace vramfit::bench
