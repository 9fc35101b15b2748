#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "model/errors.h"
#include "model/memory/pool.h"
#include "model/transformer/parameters.h"
#include "runtimes/vramfit/virtual_device.h"
#include "tests/model/published_models.h"
#include "tests/model/transformer/runs.h"

namespace vramfit {
namespace {

GenerationOptions options_for(DType precision, std::int64_t batch, std::int64_t seq,
                              std::int64_t generate = 1) {
  GenerationOptions options;
  options.precision = precision;
  options.batch = batch;
  options.seq = seq;
  options.generate = generate;
  return options;
}

std::uint64_t cache_of(const ModelConfig& config, const GenerationOptions& options) {
  return stage_of(generated(config, options), Stage::Prefill, 1).at_end[Category::KvCache];
}

TEST(GenerationMemory, KvCacheOfLlama2Takes512KiBAToken) {
  const ModelConfig config = published("llama2-7b");
  for (const std::int64_t batch : {1, 8}) {
    for (const std::int64_t seq : {1, 512, 2048}) {
      EXPECT_EQ(cache_of(config, options_for(DType::Fp16, batch, seq)),
                524'288 * static_cast<std::uint64_t>(batch * seq));
    }
  }
}

TEST(GenerationMemory, KvCacheFollowsFromTheKeyAndValueHeads) {
  for (const std::string& name : runnable_names()) {
    const ModelConfig c = published(name);
    for (const DType precision : {DType::Bf16, DType::Fp32}) {
      const auto a_token = static_cast<std::uint64_t>(2 * c.layers * c.kv_heads * c.head_dim) *
                           Format(precision).bytes(1);
      EXPECT_EQ(cache_of(c, options_for(precision, 2, 100)), a_token * 200) << name;
    }
  }
  // 32 heads' queries share 8 heads' keys and values.
  EXPECT_EQ(cache_of(published("llama3-8b"), options_for(DType::Bf16, 1, 1)), 131'072U);
}

TEST(GenerationMemory, KvCacheHasRoomForAllButTheLastNewToken) {
  const ModelConfig config = published("tinyllama-1.1b");
  const std::uint64_t a_token = cache_of(config, options_for(DType::Bf16, 1, 1));
  EXPECT_EQ(cache_of(config, options_for(DType::Bf16, 3, 100, 1)), 300 * a_token);
  EXPECT_EQ(cache_of(config, options_for(DType::Bf16, 3, 100, 16)), 3 * 115 * a_token);
}

TEST(GenerationMemory, StagesComeInTheirOrder) {
  std::vector<std::string> stages;
  for (const StageRecord& record :
       generated(shallow("qwen2-0.5b"), options_for(DType::Bf16, 1, 64, 4)).stages) {
    stages.emplace_back(name(record.stage));
  }
  EXPECT_EQ(stages, (std::vector<std::string>{"loaded", "prefill", "decode", "decode"}))
      << "the first new token comes out of prefill, and two decode steps are written down";
}

TEST(GenerationMemory, LeavesNothingBehindButTheCache) {
  for (const std::string& name : every_kind_of_model()) {
    for (const AttentionForm form : {AttentionForm::Flash, AttentionForm::Cublas}) {
      GenerationOptions options = options_for(DType::Fp16, 2, 64, 4);
      options.attention = form;
      const ModelConfig config = shallow(name);
      const RunReport report = generated(config, options);
      const StageRecord loaded = stage_of(report, Stage::Loaded, 0);
      EXPECT_EQ(loaded.at_end[Category::Parameters],
                2 * static_cast<std::uint64_t>(stored_parameter_count(config)));
      EXPECT_EQ(loaded.at_end[Category::Inputs], 2U * 64 * 4 + 2 * 4) << "prompts and new tokens";
      EXPECT_EQ(loaded.at_end[Category::Workspace], 32U << 20);
      EXPECT_EQ(loaded.after, loaded.at_end.total());
      for (const StageRecord& record : report.stages) {
        if (record.stage == Stage::Loaded) continue;
        EXPECT_EQ(record.at_end[Category::Activations], 0U) << name;
        const std::uint64_t lengths = 2U * 4;
        EXPECT_EQ(record.after, loaded.after + lengths + record.at_end[Category::KvCache]) << name;
      }
      for (const Category category : {Category::Gradients, Category::OptimizerState}) {
        EXPECT_EQ(report.peak.by_category[category], 0U);
      }
    }
  }
}

// Nothing is kept for a backward pass, so prefill needs room for one layer's activations.
TEST(GenerationMemory, ActivationsDoNotGrowWithDepth) {
  for (const std::string& name : every_kind_of_model()) {
    for (const AttentionForm form : {AttentionForm::Flash, AttentionForm::Cublas}) {
      GenerationOptions options = options_for(DType::Bf16, 4, 512);
      options.attention = form;
      const auto working = [&](std::int64_t layers) {
        const StageRecord prefill =
            stage_of(generated(shallow(name, layers), options), Stage::Prefill, 1);
        return prefill.peak - prefill.after;
      };
      EXPECT_EQ(working(2), working(7)) << name;
    }
  }
}

TEST(GenerationMemory, DecodeNeedsLittleBesideTheCache) {
  const RunReport report = generated(published("llama2-7b"), options_for(DType::Fp16, 8, 2048, 8));
  const StageRecord decode = stage_of(report, Stage::Decode, 1);
  EXPECT_EQ(decode.before, decode.after);
  EXPECT_LT(decode.peak - decode.before, 8U << 20);
  EXPECT_EQ(report.peak.stage, Stage::Prefill);
  EXPECT_EQ(decode.reserved, report.reserved);
}

TEST(GenerationMemory, RefusesWhatCannotBeRun) {
  const auto refused = [](const char* field, const char* model, std::int64_t batch,
                          std::int64_t seq, std::int64_t generate) {
    try {
      generated(published(model), options_for(DType::Bf16, batch, seq, generate));
      ADD_FAILURE() << "taken, with a bad " << field;
    } catch (const BadInput& error) {
      EXPECT_EQ(std::string(error.what()).rfind(std::string(field) + ": ", 0), 0U) << error.what();
    }
  };
  refused("batch", "gpt2-124m", 0, 64, 1);
  refused("batch", "gpt2-124m", INT64_MIN, 64, 1);
  refused("seq", "gpt2-124m", 1, 0, 1);
  refused("seq", "gpt2-124m", 1, 1025, 1);
  refused("seq", "gpt2-124m", 1, 1024, 2);
  refused("generate", "gpt2-124m", 1, 64, 0);
  refused("generate", "gpt2-124m", 1, 64, INT64_MAX);
  refused("seq", "mistral-7b", 1, 4097, 1);
  refused("seq", "mistral-7b", 1, 4096, 2);
  EXPECT_NO_THROW(generated(published("gpt2-124m"), options_for(DType::Bf16, 1, 1024, 1)));
  EXPECT_NO_THROW(generated(published("mistral-7b"), options_for(DType::Bf16, 1, 4096, 1)));
}

TEST(GenerationMemory, RewindingDecodesAgainInTheSameMemory) {
  VirtualSource source;
  Pool pool(source);
  Ledger ledger(pool);
  VirtualDevice device(Arch{90});
  const GenerationOptions options = options_for(DType::Bf16, 1, 64);
  Generator generator(device, ledger, shallow("qwen2-0.5b"), options);
  EXPECT_THROW(generator.rewind(0), std::logic_error);
  generator.prefill([](Device&, Tensor&) {});
  EXPECT_THROW(generator.decode(), std::logic_error);  // the cache is full
  EXPECT_THROW(generator.rewind(options.seq + 1), std::logic_error);
  const std::uint64_t allocated = ledger.allocated();
  for (int token = 0; token < 3; ++token) {
    generator.rewind(1);
    generator.decode();
    EXPECT_EQ(ledger.allocated(), allocated);
    EXPECT_EQ(ledger.stages().back().peak, ledger.stages()[2].peak);
  }
}

TEST(GenerationMemory, OnlyHopperMultipliesManyRowsWithCodesOfFourBits) {
  GenerationOptions options = options_for(DType::Bf16, 1, 17);
  options.precision = parse_model_precision("int4");
  const auto dequantizes = [&](int sm, std::int64_t rows) {
    options.seq = rows;
    const RunReport report = dry_run(VirtualGpu{Arch{sm}}, shallow("llama2-7b"), options);
    return std::any_of(report.events.begin(), report.events.end(), [](const Event& event) {
      return event.name == Name{"dequantized", 0};
    });
  };
  for (const int sm : {80, 89, 90, 100}) {
    EXPECT_FALSE(dequantizes(sm, 16)) << sm;
    EXPECT_EQ(dequantizes(sm, 17), sm != 90) << sm;
    EXPECT_EQ(dequantizes(sm, 64), sm != 90) << sm;
    EXPECT_TRUE(dequantizes(sm, 65)) << sm;
  }
}

}  // namespace
}  // namespace vramfit
