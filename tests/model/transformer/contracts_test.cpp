#include <gtest/gtest.h>

#include "model/errors.h"
#include "model/transformer/run.h"
#include "runtimes/vramfit/virtual_memory.h"
#include "tests/model/transformer/contract_device.h"
#include "tests/model/transformer/runs.h"

namespace vramfit {
namespace {

/// Calls `body` with a ledger, and checks that ops ran, each as often as a layer or a run has it.
template <typename Body>
std::map<std::string, int> calls_of(DType precision, const Body& body) {
  VirtualMemory memory;
  ContractDevice device(precision);
  body(device, memory.ledger());
  return device.calls();
}

TEST(Contracts, AreKeptByEveryKindOfTraining) {
  for (const std::string& model : every_kind_of_model()) {
    const ModelConfig config = shallow(model, 3);
    for (const TrainingOptions& options : every_kind_of_training()) {
      SCOPED_TRACE(model + " " + options.optimizer.name + " " + options.precision.name + " " +
                   name(options.attention));
      auto calls = calls_of(options.precision.activations, [&](Device& device, Ledger& ledger) {
        run_training(device, ledger, config, options, 2);
      });
      if (HasFailure()) return;
      const int passes = 2 * static_cast<int>(options.accumulate);
      EXPECT_EQ(calls["attention_forward"], 3 * passes);
      EXPECT_EQ(calls["attention_backward"], 3 * passes);
      EXPECT_EQ(calls["linear_forward"], 3 * 3 * passes) << "qkv, out and down";
      EXPECT_EQ(calls["linear_backward_weight"], 3 * 4 * passes);
      EXPECT_EQ(calls["linear_backward_input"], 3 * 4 * passes);
      EXPECT_EQ(calls["norm_forward"], (2 * 3 + 1) * passes);
      EXPECT_EQ(calls["norm_backward"], (2 * 3 + 1) * passes);
      EXPECT_EQ(calls["rotary_forward"], config.rope ? 3 * passes : 0);
      EXPECT_EQ(calls["rotary_backward"], config.rope ? 3 * passes : 0);
      EXPECT_EQ(calls["head_loss"], passes);
      EXPECT_EQ(calls["embedding_backward"], passes);
      EXPECT_EQ(calls["optimizer_step"], 2);
    }
  }
}

// The MLP's second half is what backward has no use for.
TEST(Contracts, AreKeptByCheckpointing) {
  for (const std::string& model : every_kind_of_model()) {
    TrainingOptions options;
    options.batch = 2;
    options.seq = 64;
    for (const Checkpoint kind : {Checkpoint::Selective, Checkpoint::Full}) {
      SCOPED_TRACE(model + " " + name(kind));
      options.checkpointing.kind = kind;
      auto calls = calls_of(options.precision.activations, [&](Device& device, Ledger& ledger) {
        run_training(device, ledger, shallow(model, 3), options, 1);
      });
      const bool full = kind == Checkpoint::Full;
      EXPECT_EQ(calls["attention_forward"], full ? 6 : 3);
      EXPECT_EQ(calls["mlp_up_forward"], 3);
      EXPECT_EQ(calls["linear_forward"], 3 * (3 + 1 + (full ? 2 : 0)));
      EXPECT_EQ(calls["norm_forward"], 2 * 3 + 1 + 3 * (full ? 2 : 1));
    }
  }
}

// Of a block's linears each encodes what it multiplies, three products' two operands; what norms
// and activations write they find the largest of themselves.
TEST(Contracts, AreKeptByTrainingInCodes) {
  for (const std::string& model : every_kind_of_model()) {
    for (const Checkpoint kind : {Checkpoint::None, Checkpoint::Selective, Checkpoint::Full}) {
      SCOPED_TRACE(model + " " + name(kind));
      TrainingOptions options;
      options.precision = parse_model_precision("fp8");
      options.optimizer = optimizer_named("adamw-master");
      options.checkpointing.kind = kind;
      options.batch = 2;
      options.seq = 24;
      auto calls = calls_of(DType::Bf16, [&](Device& device, Ledger& ledger) {
        run_training(device, ledger, shallow(model, 3), options, 1);
      });
      if (HasFailure()) return;
      EXPECT_EQ(calls["linear_backward_input"], 3 * 4);
      EXPECT_EQ(calls["linear_backward_weight"], 3 * 4);
      EXPECT_EQ(calls["mlp_up_forward"], 0);
      if (kind != Checkpoint::None) continue;
      EXPECT_EQ(calls["linear_forward"], 3 * 4);
      EXPECT_EQ(calls["encode"], 3 * (2 * 4 + 1 + 3 * 4)) << "and what the activation is of";
      EXPECT_EQ(calls["find_largest"], 3 * (4 + 1 + 3));
    }
  }
}

TEST(Contracts, OfCodesRefuseWhatIsNoMultipleOf16) {
  TrainingOptions options;
  options.precision = parse_model_precision("fp8");
  options.batch = 3;
  options.seq = 40;
  try {
    validate(shallow("llama2-7b"), options);
    FAIL();
  } catch (const BadInput& error) {
    EXPECT_STREQ(
        error.what(),
        "precision: fp8 trains micro-batches of 16, 32, … tokens; 3 x 40 are 120: bf16, or "
        "another --seq");
  }
  options.seq = 48;
  validate(shallow("llama2-7b"), options);
}

TEST(Contracts, AreKeptByAdapters) {
  for (const std::string& model : every_kind_of_model()) {
    const ModelConfig config = shallow(model, 3);
    for (const TrainingOptions& options : every_kind_of_adapters(config)) {
      SCOPED_TRACE(model + " " + options.precision.name + " " + std::to_string(options.seq) + " " +
                   std::to_string(options.lora->targets.size()));
      auto calls = calls_of(options.precision.activations, [&](Device& device, Ledger& ledger) {
        run_training(device, ledger, config, options, 1);
      });
      if (HasFailure()) return;
      const bool all = options.lora->targets.size() > 2;
      const int adapted = all ? 4 : 1;  // of a block's four projections
      EXPECT_EQ(calls["lora_backward_input"], 3 * adapted);
      EXPECT_EQ(calls["lora_backward_weight"], 3 * adapted);
      EXPECT_EQ(calls["linear_backward_weight"], 3 * adapted) << "of first halves alone";
      // But for the first block's qkv, where backward ends.
      EXPECT_EQ(calls["linear_backward_input"], 3 * (4 + adapted) - 2);
      EXPECT_EQ(calls["mlp_up_forward"], all ? 0 : 3);
      EXPECT_EQ(calls["activate"], all ? 3 : 0);
      EXPECT_EQ(calls["embedding_backward"], 0);
      EXPECT_EQ(calls["optimizer_step"], 1);
    }
  }
}

TEST(Contracts, AreKeptWhereTheHeadIsDoneInChunks) {
  for (const DType precision : {DType::Bf16, DType::Fp16, DType::Fp32, DType::Fp64}) {
    TrainingOptions options;
    options.precision = precision;
    options.batch = 8;
    options.seq = 2048;
    const auto calls = calls_of(precision, [&](Device& device, Ledger& ledger) {
      run_training(device, ledger, shallow("llama3-8b"), options, 1);
    });
    EXPECT_EQ(calls.at("head_loss"), 1);
  }
}

TEST(Contracts, AreKeptByEveryKindOfGeneration) {
  for (const std::string& model : every_kind_of_model()) {
    for (const DType precision : {DType::Bf16, DType::Fp16, DType::Fp32, DType::Fp64}) {
      for (const AttentionForm form : {AttentionForm::Flash, AttentionForm::Cublas}) {
        SCOPED_TRACE(model + " " + name(precision) + " " + name(form));
        GenerationOptions options;
        options.precision = precision;
        options.attention = form;
        options.batch = 3;
        options.seq = 40;
        options.generate = 5;
        auto calls = calls_of(precision, [&](Device& device, Ledger& ledger) {
          run_generation(device, ledger, shallow(model), options);
        });
        if (HasFailure()) return;
        EXPECT_EQ(calls["attention_forward"], 2) << "prefill, of two layers";
        EXPECT_EQ(calls["attention_decode"], 2 * 4);
        EXPECT_EQ(calls["kv_cache_append"], 2) << "prefill";
        EXPECT_EQ(calls["argmax"], 5);
      }
    }
  }
}

TEST(Contracts, AreKeptByEveryKindOfCache) {
  for (const std::optional<DType> format : {std::optional<DType>(), {DType::Fp8}, {DType::Int8}}) {
    for (const std::int64_t block : {0, 16}) {
      for (const bool spread : {false, true}) {
        GenerationOptions options;
        options.cache = format;
        options.block = block;
        options.spread = spread;
        options.batch = 3;
        options.seq = 40;
        options.generate = 4;
        auto calls = calls_of(DType::Bf16, [&](Device& device, Ledger& ledger) {
          run_generation(device, ledger, shallow("llama3-8b"), options);
        });
        if (HasFailure()) return;
        EXPECT_EQ(calls["attention_decode"], 2 * 3);
        EXPECT_EQ(calls["advance"], 3);
      }
    }
  }
}

TEST(Contracts, AreKeptWhereLinearsAreQuantized) {
  for (const GenerationOptions& options : every_precision_of_generation()) {
    const ModelPrecision& precision = options.precision;
    SCOPED_TRACE(precision.name + std::string(" ") + std::to_string(options.seq));
    auto calls = calls_of(precision.activations, [&](Device& device, Ledger& ledger) {
      run_generation(device, ledger, shallow("llama2-7b"), options);
    });
    if (HasFailure()) return;
    const int linears = 2 * 4 + 1;  // of two layers, and the head
    const bool inputs = precision.inputs == precision.linears && precision.quantized();
    EXPECT_GE(calls["quantize"], precision.quantized() ? linears : 0);
    EXPECT_EQ(calls["linear_forward"] + calls["mlp_up_forward"], 3 * linears);
    if (inputs) {
      EXPECT_GE(calls["quantize"], linears + 3 * linears);
    }
  }
}

}  // namespace
}  // namespace vramfit
