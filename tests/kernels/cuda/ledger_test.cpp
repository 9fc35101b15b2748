#include "estimator/card_names.h"
#include "estimator/cards.h"
#include "estimator/models.h"
#include "runtimes/vramfit/dry_run.h"
#include "tests/kernels/cuda/support/gpu_run.h"
#include "tests/kernels/cuda/support/witness.h"

// The central test: a run on the GPU and the same run on a virtual one write the same ledger, event
// by event, byte for byte; and the card itself says the same as the ledger.

namespace vramfit {
namespace {

struct TrainingCase {
  const char* model;
  ModelPrecision precision;
  const char* optimizer;
  AttentionForm attention;
  std::int64_t batch;
  std::int64_t seq;
  std::int64_t accumulate = 1;
  Checkpointing checkpointing = {};
  std::int64_t lora = 0;  ///< rank of adapters; 0: none
};

constexpr AttentionForm kFlash = AttentionForm::Flash;
constexpr AttentionForm kCublas = AttentionForm::Cublas;

ModelPrecision of(const char* name) { return parse_model_precision(name); }

/// Every family, precision and optimizer; odd sizes; the figures that docs have; adapters, of usual
/// targets where ranks are even, beside every linear where they are not.
const TrainingCase kTraining[] = {
    {"gpt2-124m", DType::Fp32, "adamw", kFlash, 3, 77},
    {"gpt2-124m", DType::Bf16, "adamw-master", kFlash, 5, 1023},
    {"gpt2-124m", DType::Fp16, "sgd-master", kCublas, 2, 129, 3},
    {"gpt2-1.5b", DType::Bf16, "adamw-master", kFlash, 16, 1024},
    {"qwen2-0.5b", DType::Bf16, "sgd", kFlash, 1, 1},
    {"qwen2-1.5b", DType::Bf16, "adamw", kFlash, 3, 777},
    {"qwen2-1.5b", DType::Fp16, "adamw-same", kCublas, 1, 333},
    {"tinyllama-1.1b", DType::Bf16, "adamw", kFlash, 8, 1024},
    {"tinyllama-1.1b", DType::Fp16, "adamw-master", kFlash, 3, 333, 3},
    {"tinyllama-1.1b", DType::Fp32, "sgd-momentum", kFlash, 2, 257},
    {"tinyllama-1.1b", DType::Fp32, "sgd", kCublas, 1, 511},
    {"tinyllama-1.1b", DType::Bf16, "adamw-8bit", kFlash, 2, 257},
    {"qwen2-0.5b", DType::Fp16, "lion", kFlash, 2, 129},
    {"qwen2-0.5b", DType::Bf16, "adafactor", kFlash, 2, 129},
    {"qwen2-0.5b", DType::Bf16, "adamw-cpu", kFlash, 2, 129},
    {"gpt2-124m", DType::Fp16, "adamw-cpu", kFlash, 3, 77, 2, {Checkpoint::Full}},
    {"llama2-7b", of("nf4"), "adamw-cpu", kFlash, 4, 512, 1, {}, 16},
    {"mistral-7b", DType::Bf16, "adamw-same", kFlash, 1, 333},
    {"llama2-7b", DType::Bf16, "adamw-same", kFlash, 4, 2048},
    {"llama2-7b", DType::Fp16, "sgd-master", kFlash, 1, 512},
    {"llama2-7b", DType::Bf16, "sgd", kCublas, 4, 512},
    {"llama2-7b", DType::Bf16, "adamw-same", kFlash, 4, 2048, 1, {Checkpoint::Full}},
    {"tinyllama-1.1b", DType::Fp16, "adamw", kFlash, 3, 333, 2, {Checkpoint::Selective, 2}},
    {"llama2-7b", DType::Bf16, "adamw", kFlash, 4, 512, 1, {}, 16},
    {"llama2-7b", of("nf4"), "adamw", kFlash, 4, 512, 1, {}, 16},
    {"llama2-7b", of("int8"), "adamw", kFlash, 16, 512, 1, {Checkpoint::Full}, 16},
    {"llama2-7b", of("fp8"), "adamw-8bit", kFlash, 2, 777, 2, {Checkpoint::Selective}, 8},
    {"llama2-7b", of("fp8"), "adamw-same", kFlash, 4, 2048},
    {"gpt2-124m", of("fp8"), "adamw-master", kFlash, 5, 1024, 2, {Checkpoint::Full}},
    {"qwen2-1.5b", of("fp8"), "adamw-8bit", kFlash, 3, 528, 1, {Checkpoint::Selective, 2}},
    {"mistral-7b", of("int4"), "lion", kCublas, 1, 12, 1, {}, 64},
    {"qwen2-1.5b", DType::Fp16, "adamw-master", kFlash, 3, 333, 1, {Checkpoint::Full, 2}, 5},
};

TrainingOptions options_of(const TrainingCase& c) {
  TrainingOptions options;
  options.precision = c.precision;
  options.optimizer = optimizer_named(c.optimizer);
  options.attention = c.attention;
  options.batch = c.batch;
  options.seq = c.seq;
  options.accumulate = c.accumulate;
  options.checkpointing = c.checkpointing;
  if (c.lora > 0) {
    const ModelConfig config = model_named(c.model);
    options.lora.emplace();
    options.lora->rank = c.lora;
    options.lora->targets = c.lora % 2 == 0 ? usual_lora_targets(config) : lora_targets(config);
  }
  return options;
}

std::string identifier(std::string text) {
  for (char& letter : text) letter = letter == '-' || letter == '.' ? '_' : letter;
  return text;
}

std::string label(const testing::TestParamInfo<TrainingCase>& test) {
  const TrainingCase& c = test.param;
  return identifier(std::string(c.model) + "_" + c.precision.name + "_" + c.optimizer + "_" +
                    name(c.attention) + "_" + std::to_string(c.batch) + "x" +
                    std::to_string(c.seq) + "x" + std::to_string(c.accumulate) + "_" +
                    name(c.checkpointing.kind) + "_" + std::to_string(c.lora));
}

void expect_equal(const RunReport& real, const RunReport& virtual_run) {
  ASSERT_GT(real.events.size(), 50U);
  EXPECT_EQ(first_difference(real, virtual_run), std::nullopt);
  EXPECT_EQ(real.host.reserved, virtual_run.host.reserved);
  EXPECT_EQ(real.reserved, virtual_run.reserved);
  EXPECT_EQ(real.peak.allocated, virtual_run.peak.allocated);
  EXPECT_EQ(real.missing.has_value(), virtual_run.missing.has_value());
}

/// Runs twice: once so that libraries load what they will, once with a witness. `run`
/// takes a ledger and returns a report.
template <typename Run>
RunReport witnessed(std::uint64_t capacity, const Run& run) {
  {
    GpuRun unobserved(capacity);
    run(unobserved.ledger);
  }
  GpuRun observed(capacity);
  Witness witness(observed.pool);
  observed.ledger.set_observer(&witness);
  RunReport report = run(observed.ledger);
  EXPECT_EQ(witness.looks, static_cast<int>(2 * report.stages.size()));
  EXPECT_EQ(witness.differences, 0) << witness.first;
  EXPECT_EQ(observed.ledger.allocated(), 0U);
  return report;
}

class TrainingLedgerTest : public testing::TestWithParam<TrainingCase> {
 protected:
  void SetUp() override { VRAMFIT_NEEDS_GPU(); }
};

TEST_P(TrainingLedgerTest, IsTheSameOnTheGpuAndOnAVirtualOne) {
  const ModelConfig config = model_named(GetParam().model);
  const TrainingOptions options = options_of(GetParam());
  const std::uint64_t capacity = free_capacity();
  const RunReport predicted = dry_run({gpu().arch(), capacity}, config, options);
  if (predicted.missing) GTEST_SKIP() << "skipped: this card is too small";
  const RunReport real = witnessed(
      capacity, [&](Ledger& ledger) { return run_training(gpu(), ledger, config, options); });
  expect_equal(real, predicted);
}

INSTANTIATE_TEST_SUITE_P(Runs, TrainingLedgerTest, testing::ValuesIn(kTraining), label);

class CudaLedgerTest : public testing::Test {
 protected:
  void SetUp() override { VRAMFIT_NEEDS_GPU(); }

  /// False where the card is too small for it.
  static bool generates_as_predicted(const char* model, const GenerationOptions& options) {
    const ModelConfig config = model_named(model);
    const std::uint64_t capacity = free_capacity();
    const RunReport predicted = dry_run({gpu().arch(), capacity}, config, options);
    if (predicted.missing) return false;
    const RunReport real = witnessed(
        capacity, [&](Ledger& ledger) { return run_generation(gpu(), ledger, config, options); });
    expect_equal(real, predicted);
    return true;
  }
};

TEST_F(CudaLedgerTest, OfGenerationIsTheSame) {
  struct Sizes {
    const char* model;
    DType precision;
    AttentionForm attention;
    std::int64_t batch;
    std::int64_t seq;
    std::int64_t generate;
  };
  for (const Sizes& s : {Sizes{"tinyllama-1.1b", DType::Fp32, kFlash, 3, 101, 9},
                         Sizes{"qwen2-1.5b", DType::Fp16, kCublas, 2, 77, 5},
                         Sizes{"gpt2-355m", DType::Bf16, kFlash, 8, 1000, 24},
                         Sizes{"mistral-7b", DType::Bf16, kFlash, 1, 1, 3},
                         Sizes{"llama2-13b", DType::Fp16, kFlash, 8, 2048, 1}}) {
    SCOPED_TRACE(s.model);
    GenerationOptions options;
    options.precision = s.precision;
    options.attention = s.attention;
    options.batch = s.batch;
    options.seq = s.seq;
    options.generate = s.generate;
    generates_as_predicted(s.model, options);
  }
}

TEST_F(CudaLedgerTest, OfQuantizedGenerationIsTheSame) {
  for (const ModelPrecision& precision : model_precisions()) {
    if (!precision.quantized()) continue;
    for (const bool head : {false, true}) {
      SCOPED_TRACE(precision.name);
      GenerationOptions options;
      options.precision = precision;
      options.quantize_head = head;
      options.batch = head ? 1 : 4;
      options.seq = head ? 700 : 512;
      options.generate = 5;
      ASSERT_TRUE(generates_as_predicted("llama2-7b", options));
    }
  }
}

TEST_F(CudaLedgerTest, OfEveryKindOfCacheIsTheSame) {
  for (const char* cache : {"unquantized", "fp8", "int8"}) {
    for (const std::int64_t block : {0, 16}) {
      SCOPED_TRACE(std::string(cache) + ", blocks of " + std::to_string(block));
      GenerationOptions options;
      options.cache = parse_cache(cache);
      options.block = block;
      options.spread = block > 0;
      options.batch = 4;
      options.seq = 700;
      options.generate = 20;
      ASSERT_TRUE(generates_as_predicted("llama3-8b", options));
    }
  }
}

/// A real run under a smaller card's capacity ends at the same allocation as a virtual one.
TEST_F(CudaLedgerTest, OfARunThatEndsOutOfMemoryIsTheSame) {
  struct Sizes {
    TrainingCase run;
    const char* card;
  };
  for (const Sizes& s :
       {Sizes{{"llama2-7b", DType::Fp16, "adamw", kFlash, 1, 512}, "rtx4090"},
        Sizes{{"llama2-7b", DType::Fp16, "adamw", kFlash, 1, 512}, "a100-40gb"},
        Sizes{{"llama2-7b", DType::Fp16, "sgd", kFlash, 64, 512}, "rtx6000-ada"},
        Sizes{{"gpt2-1.5b", DType::Fp16, "adamw", kFlash, 32, 512}, "rtx4090"},
        Sizes{{"tinyllama-1.1b", DType::Bf16, "adamw", kCublas, 64, 777}, "a100-40gb"}}) {
    const Card& card = card_named(s.card);
    SCOPED_TRACE(std::string(s.run.model) + " on " + s.card);
    const std::uint64_t capacity = pool_capacity(card.vram, card.overhead);
    if (capacity > free_capacity()) continue;
    const ModelConfig config = model_named(s.run.model);
    const TrainingOptions options = options_of(s.run);
    const RunReport predicted = dry_run({gpu().arch(), capacity}, config, options);
    ASSERT_TRUE(predicted.missing.has_value());
    const RunReport real = witnessed(
        capacity, [&](Ledger& ledger) { return run_training(gpu(), ledger, config, options); });
    expect_equal(real, predicted);
    ASSERT_TRUE(real.missing.has_value());
    EXPECT_EQ(real.missing->name, predicted.missing->name);
    EXPECT_EQ(real.missing->stage, predicted.missing->stage);
    EXPECT_EQ(real.missing->requested, predicted.missing->requested);
    std::printf("%s on %s: %s in %s of step %d\n", s.run.model, s.card,
                real.missing->name.text().c_str(), name(real.missing->stage), real.missing->step);
  }
}

}  // namespace
}  // namespace vramfit
