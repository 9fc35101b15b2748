// Adapters beside quantised weights: what an H200 recorded of two steps with transformers 5.17,
// PEFT 0.21 and bitsandbytes 0.50.2, byte by byte.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtimes/pytorch/cases.h"
#include "tests/runtimes/pytorch/events.h"

namespace vramfit::pytorch {
namespace {

using Json = nlohmann::json;

RunReport trained(const Json& test_case) {
  return run(h200(), measured_release(), model_of(test_case), training_of(test_case));
}

TEST(Qlora, AsksForTheSameBytesInTheSameOrder) {
  constexpr std::uint64_t kWorkspace = 32 << 20;  // cuBLAS's, which recordings leave out
  int compared = 0;
  for (const Json& recording : read_lines(VRAMFIT_PYTORCH_FIXTURES "/qlora.jsonl")) {
    const Json& test_case = recording.at("case");
    SCOPED_TRACE(title_of(test_case));
    // Small ones were left out; of LLM.int8() also those that follow how many outliers there were.
    const std::int64_t least = recording.at("least");
    ByteEvents events = events_of(trained(test_case), least, [](const Event& event) {
      return event.requested != kWorkspace || event.category != Category::Workspace;
    });
    // The loader's warm-up, for which a process that has trained before has memory.
    ASSERT_EQ(events.at(0), -events.at(1));
    events.erase(events.begin(), events.begin() + 2);
    EXPECT_EQ(first_difference(recording.at("events"), events), "");
    ++compared;
  }
  EXPECT_EQ(compared, 4);
}

Json case_of(const char* quant, std::int64_t batch) {
  Json test_case = read_lines(VRAMFIT_PYTORCH_FIXTURES "/qlora.jsonl").at(0).at("case");
  test_case["quant"] = quant;
  test_case["b"] = batch;
  return test_case;
}

TEST(Qlora, KeepsInFp32WhatIsNotQuantised) {
  const Json test_case = case_of("nf4", 1);
  TorchTraining options = training_of(test_case);
  const RunReport prepared = trained(test_case);
  TorchGeneration read;
  read.pretrained = options.pretrained;
  const RunReport loaded = run(h200(), measured_release(), model_of(test_case), read);
  constexpr double kCast = 2.0 * (2 * 32000.0 * 2048 + 5 * 2048);          // 2 bytes more each
  constexpr double kAdapters = 2 * 4 * 16 * (2048.0 + 2048 + 2048 + 256);  // q and v
  const auto more = static_cast<double>(prepared.stages[0].after - loaded.stages[0].after);
  EXPECT_NEAR(more, kCast + kAdapters, 65536);
  EXPECT_EQ(prepared.stages[0].after, trained(case_of("nf4", 8)).stages[0].after);
}

TEST(Qlora, NothingKeepsWhatATiedHeadWas) {
  const Json test_case = case_of("nf4", 1);
  ModelConfig model = model_of(test_case);
  model.tied_head = true;
  const std::int64_t bf16 = 2 * model.vocab * model.hidden;
  ByteEvents events = events_of(run(h200(), measured_release(), model, training_of(test_case)), 1,
                                [](const Event& event) { return event.step == 0; });
  const auto cast = std::find(events.begin(), events.end(), 2 * bf16);
  ASSERT_LT(cast + 1, events.end());
  EXPECT_EQ(cast[1], -bf16);
}

// 4 bits save nothing, LLM.int8() its input; checkpointing lets go of it only where the engine is
// entered again.
TEST(Qlora, WhichInputsAreKept) {
  const auto activations = [](const char* quant, GradientCheckpointing checkpoint) {
    const Json test_case = case_of(quant, 4);
    TorchTraining options = training_of(test_case);
    options.checkpoint = checkpoint;
    const RunReport report =
        run(h200(), measured_release(), model_of(test_case), options, {.steps = 1, .detail = {}});
    const StageRecord& forward = report.stages.at(1);
    return static_cast<double>(forward.at_end[Category::Activations]);
  };
  const double whole = activations("nf4", GradientCheckpointing::None);
  const double full = activations("nf4", GradientCheckpointing::Full);
  const double reentrant = activations("nf4", GradientCheckpointing::Reentrant);
  EXPECT_LT(full, whole);
  EXPECT_NEAR(reentrant / full, 1, 0.03);
  EXPECT_GT(activations("int8", GradientCheckpointing::None), whole);
  const double kept = activations("int8", GradientCheckpointing::Full);
  // Of each layer in fp32: two norms' outputs, attention's, and the MLP's product.
  constexpr double kInputs = 2 * 4 * 512 * 4.0 * (3 * 2048 + 5632);
  EXPECT_NEAR((kept - full) / kInputs, 1, 0.05);
  EXPECT_NEAR(activations("int8", GradientCheckpointing::Reentrant) / reentrant, 1, 0.03);
}

// Steps and micro-batches are played where they are alike, and walked where outliers are not.
TEST(Qlora, LongerRunsAreWhatTheirStepsAre) {
  for (const char* quant : {"nf4", "nf4-dq", "int8"}) {
    const Json test_case = case_of(quant, 2);
    TorchTraining options = training_of(test_case);
    options.accumulate = 3;
    options.optimizer = TorchOptimizer::AdafactorTransformers;
    const auto report_of = [&](bool one_by_one) {
      return run(h200(), measured_release(), model_of(test_case), options,
                 {.steps = 4, .exhaustive = one_by_one, .detail = {}});
    };
    const RunReport played = report_of(false);
    EXPECT_EQ(first_difference(played.events, report_of(true).events), std::nullopt) << quant;
  }
}

}  // namespace
}  // namespace vramfit::pytorch
