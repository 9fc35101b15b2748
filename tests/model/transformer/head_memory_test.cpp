#include <gtest/gtest.h>

#include <algorithm>

#include "model/ops/head_ops.h"
#include "model/ops/workspaces.h"
#include "model/transformer/parameters.h"
#include "tests/model/published_models.h"
#include "tests/model/transformer/runs.h"

namespace vramfit {
namespace {

std::uint64_t largest_workspace(const RunReport& report) {
  std::uint64_t bytes = 0;
  for (const Event& event : report.events) {
    if (event.kind == Event::Kind::Allocate && event.category == Category::Workspace) {
      bytes = std::max(bytes, event.bytes);
    }
  }
  return bytes;
}

std::uint64_t bytes_of(const RunReport& report, const Name& name) {
  for (const Event& event : report.events) {
    if (event.kind == Event::Kind::Allocate && event.name == name) return event.bytes;
  }
  return 0;
}

// Logits of a whole batch are what other trainers run out of memory with: 8 × 2048 tokens of
// llama3 are 8.4 GB in fp32.
TEST(HeadMemory, LogitsOfTheWholeBatchNeverExist) {
  for (const std::string& name : every_kind_of_model()) {
    const ModelConfig config = shallow(name);
    const auto vocab = static_cast<std::uint64_t>(stored_vocab(config));
    for (const DType precision : {DType::Bf16, DType::Fp32}) {
      TrainingOptions options;
      options.precision = precision;
      options.batch = 64;
      options.seq = 1024;
      const RunReport report = trained(config, options, 1);
      const std::uint64_t logits = bytes_of(report, "logits");
      EXPECT_GT(logits, std::uint64_t{200} << 20) << "large enough for its GEMM to run well";
      EXPECT_LE(logits, std::uint64_t{256} << 20) << name;
      EXPECT_EQ(logits % (vocab * Format(precision).bytes(1) * 128), 0U) << "not a whole chunk";
      const std::uint64_t whole_batch = vocab * 64 * 1024 * Format(precision).bytes(1);
      EXPECT_LT(largest_workspace(report), whole_batch / 2) << name;
    }
  }
}

TEST(HeadMemory, DoesNotGrowWithTheBatch) {
  for (const std::string& name : every_kind_of_model()) {
    TrainingOptions options;
    options.seq = 1024;
    options.batch = 64;
    const RunReport some = trained(shallow(name), options, 1);
    options.batch = 256;
    const RunReport many = trained(shallow(name), options, 1);
    for (const Name& tensor : {Name("logits"), Name("head_gradient")}) {
      EXPECT_GT(bytes_of(some, tensor), 0U) << tensor.text();
      EXPECT_EQ(bytes_of(some, tensor), bytes_of(many, tensor)) << name << " " << tensor.text();
    }
  }
}

TEST(HeadMemory, SumsItsGradientIn32BitsOnlyWhereThereAreSeveralChunks) {
  const ModelConfig config = shallow("llama2-7b");
  const auto weights = static_cast<std::uint64_t>(config.vocab * config.hidden);
  const auto sum = [&](DType precision, std::int64_t batch) {
    TrainingOptions options;
    options.precision = precision;
    options.batch = batch;
    options.seq = 2048;
    return bytes_of(trained(config, options, 1), "head_gradient");
  };
  EXPECT_EQ(sum(DType::Bf16, 1), 0U) << "one chunk is rounded once anyway";
  EXPECT_EQ(sum(DType::Bf16, 4), 4 * weights);
  EXPECT_EQ(sum(DType::Fp32, 4), 0U) << "the gradient is its own sum";
}

TEST(HeadMemory, StandsInBackwardAlone) {
  TrainingOptions options;
  options.batch = 8;
  options.seq = 1024;
  for (const Event& event : trained(shallow("llama3-8b"), options, 2).events) {
    if (event.name == Name("logits") || event.name == Name("head_gradient")) {
      EXPECT_EQ(event.stage, Stage::Backward) << event.text();
    }
  }
}

TEST(HeadChunk, IsWholeOrAMultipleOf128) {
  EXPECT_EQ(head_chunk_tokens(100, 32000, DType::Bf16), 100);
  EXPECT_EQ(head_chunk_tokens(1, 32000, DType::Bf16), 1);
  EXPECT_EQ(head_chunk_tokens(1 << 20, 32000, DType::Bf16), 4096) << "4194 rows fit 256 MiB";
  EXPECT_EQ(head_chunk_tokens(1 << 20, 32000, DType::Fp32), 2048);
  EXPECT_EQ(head_chunk_tokens(1 << 20, 128256, DType::Bf16), 1024);
  EXPECT_EQ(head_chunk_tokens(1 << 20, 1 << 24, DType::Fp32), 128) << "never less";
}

}  // namespace
}  // namespace vramfit
