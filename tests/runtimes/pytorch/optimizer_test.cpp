// What optimizers keep for each parameter, and what their step takes on the way.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/runtimes/pytorch/cases.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit::pytorch {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kHidden = 512;
constexpr std::uint64_t kFfn = 1408;
constexpr std::uint64_t kVocab = 4000;
constexpr std::uint64_t kLayers = 3;

ModelConfig small_llama() {
  return model_of({{"model", "small"},
                   {"arch",
                    {{"model_type", "llama"},
                     {"hidden_size", kHidden},
                     {"intermediate_size", kFfn},
                     {"num_hidden_layers", kLayers},
                     {"num_attention_heads", 8},
                     {"num_key_value_heads", 8},
                     {"vocab_size", kVocab},
                     {"max_position_embeddings", 512}}}});
}

/// Matrices by (out, in), and vectors of one.
using Shape = std::pair<std::uint64_t, std::uint64_t>;
std::vector<Shape> shapes() {
  std::vector<Shape> all = {{kVocab, kHidden}, {kVocab, kHidden}, {kHidden, 1}};
  for (std::uint64_t i = 0; i < kLayers; ++i) {
    all.insert(all.end(), 4, {kHidden, kHidden});
    all.insert(all.end(), {{kFfn, kHidden}, {kFfn, kHidden}, {kHidden, kFfn}});
    all.insert(all.end(), 2, {kHidden, 1});
  }
  return all;
}

template <typename Bytes>  // (rows, columns; of a vector 1)
std::uint64_t sum(const Bytes& bytes) {
  const std::vector<Shape> all = shapes();
  return std::accumulate(
      all.begin(), all.end(), std::uint64_t{0},
      [&](std::uint64_t total, const Shape& s) { return total + bytes(s.first, s.second); });
}

RunReport trained(TorchOptimizer optimizer) {
  TorchTraining options;
  options.optimizer = optimizer;
  options.batch = 2;
  options.seq = 64;
  return run(h200(), measured_release(), small_llama(), options);
}

/// Asked for in the first step, and kept.
std::uint64_t state_bytes(const RunReport& report) {
  std::uint64_t bytes = 0;
  for (const Event& event : report.events) {
    const bool state = event.category == Category::OptimizerState && event.step == 1;
    if (state && event.kind == Event::Kind::Allocate) bytes += event.requested;
  }
  return bytes;
}

constexpr std::uint64_t kMaps = 2 * 256 * 4;
std::uint64_t scales(std::uint64_t n) { return 2 * 4 * ((n + 255) / 256); }

TEST(Optimizer, EightBitsABlockOf256AndSmallTensorsInFp32) {
  const std::uint64_t expected = sum([](std::uint64_t rows, std::uint64_t columns) {
    const std::uint64_t n = rows * columns;
    return n < 4096 ? 8 * n : 2 * n + scales(n);
  });
  const RunReport report = trained(TorchOptimizer::AdamW8bit);
  EXPECT_EQ(state_bytes(report), expected + kMaps);
  EXPECT_EQ(report.stages.back().managed, 0U);
}

TEST(Optimizer, LargePagedStatesAreBesideTheAllocator) {
  const auto paged = [](std::uint64_t n) { return n >= 100'000; };
  for (const bool eight_bits : {true, false}) {
    const std::uint64_t managed = sum([&](std::uint64_t rows, std::uint64_t columns) {
      const std::uint64_t n = rows * columns;
      return paged(n) ? (eight_bits ? 2 : 8) * n : 0;
    });
    const std::uint64_t on_card = sum([&](std::uint64_t rows, std::uint64_t columns) {
      const std::uint64_t n = rows * columns;
      if (!paged(n)) return 8 * n;  // here vectors alone, too small for 8 bits
      return eight_bits ? scales(n) : 0;
    });
    const RunReport report =
        trained(eight_bits ? TorchOptimizer::PagedAdamW8bit : TorchOptimizer::PagedAdamW32bit);
    EXPECT_EQ(state_bytes(report), on_card + (eight_bits ? kMaps : 0));
    const StageRecord& last = report.stages.back();
    EXPECT_EQ(last.managed, managed);
    EXPECT_EQ(report.stages[1].managed, 0U) << "before the first step";
  }
}

TEST(Optimizer, AdafactorKeepsRowsAndColumns) {
  const auto factors = [](std::uint64_t bytes) {
    return sum([=](std::uint64_t rows, std::uint64_t columns) {
      return bytes * (columns == 1 ? rows : rows + columns);
    });
  };
  EXPECT_EQ(state_bytes(trained(TorchOptimizer::Adafactor)), factors(2)) << "in the weights' type";
  const std::uint64_t rms = 4 * shapes().size();
  EXPECT_EQ(state_bytes(trained(TorchOptimizer::AdafactorTransformers)), factors(4) + rms);
}

// Gradient, weight, square and its sum, all in fp32, while the update before is still held: as ops
// of transformers 5.17 come and go under a TorchDispatchMode.
TEST(Optimizer, TransformersAdafactorTakesFourCopiesInFp32OnTheWay) {
  const RunReport report = trained(TorchOptimizer::AdafactorTransformers);
  const auto step = std::find_if(report.stages.begin(), report.stages.end(), [](const auto& s) {
    return s.stage == Stage::Optimizer && s.step == 2;
  });
  ASSERT_NE(step, report.stages.end());
  const std::uint64_t embedding = kVocab * kHidden;
  const auto temporaries = static_cast<double>(step->peak - step->before);
  // Or more, where a mean over few columns shares partial results.
  EXPECT_GE(temporaries, 16.0 * static_cast<double>(embedding));
  EXPECT_LE(temporaries, 16.0 * static_cast<double>(embedding) * 1.5);
}

TEST(Optimizer, NamesAreReadBack) {
  int kinds = 0;
  for (const char* text :
       {"adamw-fused", "adamw", "adamw-loop", "adamw-8bit", "paged-adamw-8bit", "paged-adamw-32bit",
        "adafactor", "adafactor-hf", "sgd", "sgd-momentum"}) {
    EXPECT_STREQ(name(parse_optimizer(text)), text);
    EXPECT_NE(optimizer_names().find(text), std::string::npos);
    ++kinds;
  }
  EXPECT_EQ(std::count(optimizer_names().begin(), optimizer_names().end(), ',') + 1, kinds);
}

TEST(Optimizers, WithoutARowAreRefused) {
  const auto none = static_cast<TorchOptimizer>(99);
  expect_bad_input([&] { name(none); }, {"optimizer: number 99 is none of adamw-fused"});
  expect_bad_input([&] { make_optimizer(none, {}); }, {"optimizer: number 99"});
}

}  // namespace
}  // namespace vramfit::pytorch
