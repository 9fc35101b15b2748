#include "bench/families/throughput.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/data/data_folder.h"
#include "estimator/models.h"

namespace vramfit::bench {
namespace {

using Json = nlohmann::json;

// The reference measurements state tokens and FLOPs a second, so their quotient is a witness.
TEST(Throughput, FlopsATokenAreThoseOfTheReference) {
  std::istringstream lines(read_text(data_folder("reference") / "pytorch_speed.jsonl"));
  int compared = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json row = Json::parse(line);
    if (row.at("what") != "train" || !row.contains("tflops")) continue;
    const ModelConfig config = model_named(row.at("name"));
    const double flops = training_flops_per_token(config, row.at("s"));
    EXPECT_NEAR(row.at("tok_s").get<double>() * flops / 1e12, row.at("tflops").get<double>(),
                1e-3 * row.at("tflops").get<double>())
        << line;
    ++compared;
  }
  EXPECT_GE(compared, 5);
}

// What attention multiplies is as wide as its heads, which need not be the model's width.
TEST(Throughput, FlopsOfAttentionAreThoseOfItsHeads) {
  const ModelConfig config = model_named("qwen3-0.6b");
  ASSERT_NE(config.heads * config.head_dim, config.hidden);
  const double more =
      training_flops_per_token(config, 2048) - training_flops_per_token(config, 1024);
  EXPECT_DOUBLE_EQ(
      more, 6.0 * static_cast<double>(config.layers * config.heads * config.head_dim) * 1024);
}

}  // namespace
}  // namespace vramfit::bench
