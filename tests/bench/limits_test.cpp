#include "bench/families/limits.h"

#include <gtest/gtest.h>

#include <chrono>

#include "bench/rows/families.h"
#include "bench/rows/target.h"
#include "estimator/models.h"
#include "model/config/hugging_face.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit::bench {
namespace {

class Limits : public testing::Test {
 protected:
  Case on(Target& target, const std::string& row, const ModelConfig& config) {
    return {parse_row(row), &config, target.cards().empty() ? nullptr : target.cards().front(),
            target.device()};
  }

  Target h200_{"virtual:h200", {}};
  Target cpu_{"cpu", {}};
  const ModelConfig tiny_ = read_hugging_face(VRAMFIT_FIXTURES "/tiny-gpt2/config.json");
};

TEST_F(Limits, OfBytes) {
  const ModelConfig model = model_named("llama2-7b");
  expect_bad_input(
      [&] {
        check_limits(on(h200_, "Inference/llama2-7b/bf16/batch:1048576/seq:16777216", model));
      },
      {"sizes: llama2-7b with 1048576 x 16777216 tokens takes more than 2^50 bytes"});
}

TEST_F(Limits, OfWhatARealDeviceRepeats) {
  const std::string row = "Training/tiny-gpt2/fp32/sgd/batch:1/seq:1/accumulate:";
  EXPECT_NO_THROW(check_limits(on(h200_, row + "1048576", tiny_))) << "it is walked once";
  EXPECT_NO_THROW(check_limits(on(cpu_, row + "1024", tiny_)));
  expect_bad_input(
      [&] { check_limits(on(cpu_, row + "1048576", tiny_)); },
      {"accumulate: is 1048576; cpu runs each through the 2 layers", "at most 131072"});
}

TEST_F(Limits, OfFlops) {
  expect_bad_input(
      [&] { check_limits(on(cpu_, "Training/tiny-gpt2/fp32/sgd/batch:1048576/seq:32", tiny_)); },
      {"sizes: tiny-gpt2 with 1048576 x 32 tokens takes ", "FLOPs; cpu is given at most 2e+10"});
}

TEST_F(Limits, NamesOfOpsAreThoseOfAShortStep) {
  using Clock = std::chrono::steady_clock;
  const auto names = [&](const char* accumulate) {
    std::vector<std::string> parts = row_names(
        on(cpu_, std::string("Ops/tiny-gpt2/fp32/sgd/batch:1/seq:16") + accumulate, tiny_));
    for (std::string& part : parts) part = part.substr(part.rfind('/'));
    return parts;
  };
  const auto start = Clock::now();
  EXPECT_EQ(names("/accumulate:1048576"), names("/accumulate:3"));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(2));
}

}  // namespace
}  // namespace vramfit::bench
