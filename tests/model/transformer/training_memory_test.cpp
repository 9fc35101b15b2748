#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "model/errors.h"
#include "model/transformer/parameters.h"
#include "tests/model/published_models.h"
#include "tests/model/transformer/runs.h"

namespace vramfit {
namespace {

std::uint64_t stored(const ModelConfig& config) {
  return static_cast<std::uint64_t>(stored_parameter_count(config));
}

// The design's table of optimizers, in bytes a parameter.
const std::map<std::string, std::uint64_t> kStateOf16Bits = {
    {"sgd", 0},        {"sgd-master", 4},    {"sgd-momentum", 4},
    {"adamw", 8},      {"adamw-master", 12}, {"adamw-same", 4},
    {"adamw-8bit", 2}, {"lion", 4},          {"adamw-cpu", 0}};
const std::map<std::string, std::uint64_t> kStateOf32Bits = {
    {"sgd", 0},        {"sgd-momentum", 4}, {"adamw", 8},    {"adamw-same", 8},
    {"adamw-8bit", 2}, {"lion", 4},         {"adamw-cpu", 0}};

/// Adafactor's: of a matrix, padding included, an fp32 for every row and column.
std::uint64_t factors(const ModelConfig& config) {
  std::uint64_t bytes = 0;
  for (const ParameterSpec& spec : parameter_specs(config)) {
    const bool matrix = spec.stored.rank() == 2;
    bytes += 4 * static_cast<std::uint64_t>(spec.stored[0] + (matrix ? spec.stored[1] : 0));
  }
  return bytes;
}

/// An fp32 for every 256 elements of a parameter, begun ones included, and each of two moments.
std::uint64_t scales(const ModelConfig& config) {
  std::uint64_t bytes = 0;
  for (const ParameterSpec& spec : parameter_specs(config)) {
    bytes += 2 * 4 * static_cast<std::uint64_t>((spec.stored.elements() + 255) / 256);
  }
  return bytes;
}

TEST(TrainingMemory, SevenBillionInFp16WithAdamWTakeTwelveBytesAParameter) {
  const ModelConfig config = published("llama2-7b");
  TrainingOptions options;
  options.precision = DType::Fp16;
  options.batch = 4;
  options.seq = 512;
  const RunReport report = trained(config, options, 1);
  const CategoryBytes after = stage_of(report, Stage::Optimizer, 1).at_end;
  EXPECT_EQ(
      after[Category::Parameters] + after[Category::Gradients] + after[Category::OptimizerState],
      12 * std::uint64_t{6'738'415'616});
}

TEST(TrainingMemory, EveryOptimizerKeepsWhatItsNameSays) {
  for (const std::string& name : every_kind_of_model()) {
    const ModelConfig config = shallow(name);
    for (const TrainingOptions& options : every_kind_of_training()) {
      const RunReport report = trained(config, options, 2);
      const std::uint64_t element = is_16_bit(options.precision.activations) ? 2 : 4;
      const auto& states = element == 2 ? kStateOf16Bits : kStateOf32Bits;
      for (const int step : {1, 2}) {
        const CategoryBytes after = stage_of(report, Stage::Optimizer, step).at_end;
        EXPECT_EQ(after[Category::Parameters], element * stored(config));
        EXPECT_EQ(after[Category::Gradients], element * stored(config));
        const std::string kind = options.optimizer.name;
        const std::uint64_t expected =
            kind == "adafactor" ? factors(config)
                                : states.at(kind) * stored(config) +
                                      (options.optimizer.has_scales() ? scales(config) : 0);
        EXPECT_EQ(after[Category::OptimizerState], expected) << kind;
      }
    }
  }
}

TEST(TrainingMemory, AdafactorsStatesAreNextToNothing) {
  const ModelConfig config = published("llama2-7b");
  EXPECT_LT(static_cast<double>(factors(config)), 0.002 * static_cast<double>(stored(config)));
}

TEST(TrainingMemory, MomentsOf8BitsTakeLittleMoreThanTwoBytes) {
  const ModelConfig config = published("llama2-7b");
  const std::uint64_t bytes = 2 * stored(config) + scales(config);
  EXPECT_LT(static_cast<double>(bytes), 2.05 * static_cast<double>(stored(config)));
}

TEST(TrainingMemory, GradientsAreBornInBackwardAndFreedByZeroGrad) {
  for (const std::string& name : every_kind_of_model()) {
    for (const TrainingOptions& options : every_kind_of_training()) {
      const RunReport report = trained(shallow(name), options, 2);
      for (const int step : {1, 2}) {
        EXPECT_EQ(stage_of(report, Stage::Forward, step).at_end[Category::Gradients], 0U);
        const CategoryBytes after = stage_of(report, Stage::Backward, step).at_end;
        EXPECT_EQ(after[Category::Gradients], after[Category::Parameters]);
        EXPECT_EQ(stage_of(report, Stage::ZeroGrad, step).at_end[Category::Gradients], 0U);
      }
    }
  }
}

TEST(TrainingMemory, StatesAreBornInTheFirstOptimizerStepAndStay) {
  TrainingOptions options;
  options.seq = 64;
  const RunReport report = trained(shallow("llama2-7b"), options, 3);
  EXPECT_EQ(stage_of(report, Stage::Backward, 1).at_end[Category::OptimizerState], 0U);
  const std::uint64_t states =
      stage_of(report, Stage::Optimizer, 1).at_end[Category::OptimizerState];
  EXPECT_GT(states, 0U);
  for (const int step : {2, 3}) {
    for (const Stage stage : {Stage::Forward, Stage::Backward, Stage::Optimizer, Stage::ZeroGrad}) {
      EXPECT_EQ(stage_of(report, stage, step).at_end[Category::OptimizerState], states);
    }
  }
}

TEST(TrainingMemory, LoadingTakesParametersInputsAndSharedWorkspace) {
  for (const DType precision : {DType::Bf16, DType::Fp16}) {
    const ModelConfig config = published("llama2-7b");
    TrainingOptions options;
    options.precision = precision;
    options.batch = 4;
    options.seq = 512;
    const StageRecord loaded = stage_of(trained(config, options, 1), Stage::Loaded, 0);
    EXPECT_EQ(loaded.before, 0U);
    EXPECT_EQ(loaded.at_end[Category::Parameters], 2 * stored(config));
    EXPECT_EQ(loaded.at_end[Category::Inputs], 2U * 4 * 512 * 4) << "tokens and targets";
    // GEMMs' 32 MiB, the loss, and fp16's loss scale with its counters.
    EXPECT_EQ(loaded.at_end[Category::Workspace],
              (32U << 20) + 4 + (precision == DType::Fp16 ? 12 : 0));
    EXPECT_EQ(loaded.after, loaded.at_end.total());
  }
}

TEST(TrainingMemory, StagesComeInTheirOrder) {
  TrainingOptions options;
  options.seq = 64;
  options.accumulate = 2;
  std::vector<std::string> stages;
  for (const StageRecord& record : trained(shallow("gpt2-124m"), options, 2).stages) {
    stages.push_back(std::string(name(record.stage)) + " " + std::to_string(record.step));
    EXPECT_FALSE(record.out_of_memory);
  }
  EXPECT_EQ(stages, (std::vector<std::string>{"loaded 0", "forward 1", "backward 1", "forward 1",
                                              "backward 1", "optimizer 1", "zero_grad 1",
                                              "forward 2", "backward 2", "forward 2", "backward 2",
                                              "optimizer 2", "zero_grad 2"}));
}

TEST(TrainingMemory, MoreMicroBatchesTakeNoMoreThanTheGradientsTheyAddTo) {
  for (const std::string& name : every_kind_of_model()) {
    const ModelConfig config = shallow(name);
    TrainingOptions options;
    options.batch = 4;
    options.seq = 256;
    const std::uint64_t one = trained(config, options).peak.allocated;
    options.accumulate = 2;
    const std::uint64_t two = trained(config, options).peak.allocated;
    EXPECT_GE(two, one) << name;
    EXPECT_LE(two, one + 2 * stored(config)) << name;
    for (const std::int64_t many : {3, 8}) {
      options.accumulate = many;
      EXPECT_EQ(trained(config, options).peak.allocated, two) << name << " × " << many;
    }
  }
}

TEST(TrainingMemory, PeaksFromTheSecondStepOn) {
  for (const std::string& name : every_kind_of_model()) {
    for (const TrainingOptions& options : every_kind_of_training()) {
      const RunReport report = trained(shallow(name), options, 4);
      EXPECT_EQ(report.peak.allocated, report.peak_of_step(2));
      EXPECT_EQ(report.peak_of_step(3), report.peak_of_step(2));
      EXPECT_EQ(report.peak_of_step(4), report.peak_of_step(2));
      const std::string kind = options.optimizer.name;
      if (kind == "adafactor") continue;  // its step may work in more than it keeps
      const bool on_card = kind != "sgd" && !options.optimizer.on_host;
      EXPECT_EQ(report.peak.step, on_card ? 2 : 1) << name << " " << kind;
    }
  }
}

TEST(TrainingMemory, StepsRepeat) {
  for (const std::string& name : every_kind_of_model()) {
    for (const TrainingOptions& options : every_kind_of_training()) {
      const RunReport report = trained(shallow(name), options, 3);
      const auto second = story(report, 2, false);
      EXPECT_GT(second.size(), 100U);
      EXPECT_EQ(first_difference(second, story(report, 3, false)), std::nullopt) << name;
    }
  }
}

// Placement takes a step or two to settle: what step 2 left in pieces can make step 3 map more. A
// step that maps nothing began and ended with the same blocks in the same memory, so that the next
// is the same again.
TEST(TrainingMemory, PlacesRepeatOnceAStepMapsNothingMore) {
  for (const std::string& name : every_kind_of_model()) {
    for (const TrainingOptions& options : every_kind_of_training()) {
      const RunReport report = trained(shallow(name), options, 6);
      const auto mapped = [&](int step) {
        return stage_of(report, Stage::ZeroGrad, step).reserved;
      };
      int step = 3;
      while (step < 5 && mapped(step) != mapped(step - 1)) ++step;
      EXPECT_EQ(mapped(step), mapped(step - 1)) << name << " keeps mapping more";
      EXPECT_EQ(first_difference(story(report, step, true), story(report, step + 1, true)),
                std::nullopt)
          << name;
    }
  }
}

TEST(TrainingMemory, RefusesWhatCannotBeTrained) {
  const ModelConfig gpt2 = published("gpt2-124m");
  const auto refused = [&](const char* field, const std::function<void(TrainingOptions&)>& change) {
    TrainingOptions options;
    options.seq = 512;
    change(options);
    try {
      trained(gpt2, options, 1);
      ADD_FAILURE() << "taken, with a bad " << field;
    } catch (const BadInput& error) {
      EXPECT_EQ(std::string(error.what()).rfind(std::string(field) + ": ", 0), 0U) << error.what();
    }
  };
  refused("batch", [](TrainingOptions& o) { o.batch = 0; });
  refused("batch", [](TrainingOptions& o) { o.batch = -1; });
  refused("batch", [](TrainingOptions& o) { o.batch = INT64_MAX; });
  refused("seq", [](TrainingOptions& o) { o.seq = 0; });
  refused("seq", [](TrainingOptions& o) { o.seq = 1025; });
  refused("seq", [](TrainingOptions& o) { o.seq = INT64_MAX; });
  refused("accumulate", [](TrainingOptions& o) { o.accumulate = 0; });
  refused("optimizer", [](TrainingOptions& o) {
    o.optimizer = optimizer_named("adamw-master");
    o.precision = DType::Fp32;
  });
}

}  // namespace
}  // namespace vramfit
