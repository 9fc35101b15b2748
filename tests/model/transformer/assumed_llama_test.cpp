#include "model/transformer/assumed_llama.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/errors.h"
#include "model/transformer/parameters.h"

namespace vramfit {
namespace {

double deviation(const ModelConfig& config, double parameters) {
  return std::abs(static_cast<double>(parameter_count(config)) / parameters - 1);
}

void expect_llama_shaped(const ModelConfig& c) {
  EXPECT_EQ(c.family, "llama");
  EXPECT_EQ(c.heads * c.head_dim, c.hidden);
  EXPECT_EQ(c.head_dim, 128);
  EXPECT_EQ(c.kv_heads, c.heads);
  EXPECT_EQ(c.ffn % 256, 0);
  EXPECT_EQ(c.vocab, 32000);
  EXPECT_EQ(c.norm, NormKind::RmsNorm);
  EXPECT_EQ(c.activation, ActivationKind::SwiGlu);
  EXPECT_TRUE(c.rope);
  EXPECT_FALSE(c.tied_head);
  ASSERT_EQ(c.notes.size(), 1U);
  EXPECT_EQ(c.notes[0].rfind("shape assumed: ", 0), 0U) << c.notes[0];
  EXPECT_NE(c.notes[0].find(std::to_string(c.layers) + " layers"), std::string::npos);
  EXPECT_NE(c.notes[0].find("hidden " + std::to_string(c.hidden)), std::string::npos);
}

TEST(AssumedLlama, ComesNearTheCountAndLooksLikeALlama) {
  for (const double parameters : {1.1e9, 3e9, 6.7e9, 7e9, 8e9, 13e9, 34e9, 65e9, 70e9, 180e9}) {
    const ModelConfig c = assumed_llama(parameters, {}, {});
    SCOPED_TRACE(std::to_string(parameters) + ": " + c.notes.at(0));
    EXPECT_LT(deviation(c, parameters), 0.02);
    expect_llama_shaped(c);
    // Published ones: 22 × 2048, 32 × 4096, 40 × 5120, 60 × 6656, 80 × 8192.
    const double depth_per_width =
        static_cast<double>(c.layers * 128) / static_cast<double>(c.hidden);
    EXPECT_GE(depth_per_width, 0.7);
    EXPECT_LE(depth_per_width, 1.4);
  }
}

TEST(AssumedLlama, TakesWidthAndDepthAsGiven) {
  const ModelConfig seven = assumed_llama(7e9, 4096, 32);
  EXPECT_EQ(parameter_count(seven), 6'738'415'616) << "llama2-7b to the last parameter";
  expect_llama_shaped(seven);
  const ModelConfig thirteen = assumed_llama(13e9, 5120, 40);
  EXPECT_EQ(parameter_count(thirteen), 13'015'864'320) << "llama2-13b";
}

TEST(AssumedLlama, ChoosesTheOtherOfWidthAndDepth) {
  const ModelConfig by_width = assumed_llama(7e9, 5120, {});
  EXPECT_EQ(by_width.hidden, 5120);
  EXPECT_LT(deviation(by_width, 7e9), 0.03);
  expect_llama_shaped(by_width);
  const ModelConfig by_depth = assumed_llama(7e9, {}, 48);
  EXPECT_EQ(by_depth.layers, 48);
  EXPECT_LT(deviation(by_depth, 7e9), 0.10);
  expect_llama_shaped(by_depth);
}

struct Refused {
  double parameters;
  std::optional<std::int64_t> hidden;
  std::optional<std::int64_t> layers;
  const char* field;
};

TEST(AssumedLlama, RefusesWhatCannotBe) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Refused cases[] = {
      {0, {}, {}, "params"},
      {-7e9, {}, {}, "params"},
      {1, {}, {}, "params"},
      {1e5, {}, {}, "params"},
      {1e15, {}, {}, "params"},
      {1e300, {}, {}, "params"},
      {kInfinity, {}, {}, "params"},
      {std::nan(""), {}, {}, "params"},
      {std::nan(""), 4096, 32, "params"},
      {7e9, 1024, 12, "params"},
      {13e9, 4096, 32, "params"},
      {7e9, 32768, {}, "params"},
      {7e9, 0, {}, "hidden"},
      {7e9, -4096, {}, "hidden"},
      {7e9, 4100, {}, "hidden"},
      {7e9, 65536, {}, "hidden"},
      {7e9, std::numeric_limits<std::int64_t>::max(), {}, "hidden"},
      {7e9, {}, 0, "layers"},
      {7e9, {}, -1, "layers"},
      {7e9, {}, 1001, "layers"},
      {7e9, 4096, std::numeric_limits<std::int64_t>::max(), "layers"},
  };
  for (const Refused& c : cases) {
    const std::string asked = std::to_string(c.parameters) + " hidden " +
                              std::to_string(c.hidden.value_or(-1)) + " layers " +
                              std::to_string(c.layers.value_or(-1));
    try {
      assumed_llama(c.parameters, c.hidden, c.layers);
      ADD_FAILURE() << "taken: " << asked;
    } catch (const BadInput& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.rfind(std::string(c.field) + ": ", 0), 0U) << asked << " → " << message;
      EXPECT_EQ(message.find('\n'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace vramfit
