#include "estimator/ask/words.h"

#include <gtest/gtest.h>

#include "estimator/ask/ask.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

FitOptions options(const std::vector<std::string>& typed) { return parse_options(typed); }

TEST(Words, OfNoFlagAreAModelAndACard) {
  const FitOptions asked = options({"qwen3-4b", "4090"});
  EXPECT_EQ(asked.model, "qwen3-4b");
  EXPECT_EQ(asked.gpu, "4090");
  const FitOptions turned = options({"4090", "qwen3-4b", "--train"});
  EXPECT_EQ(turned.model, "qwen3-4b");
  EXPECT_EQ(turned.gpu, "4090");
  EXPECT_TRUE(turned.train);
}

TEST(Words, MayBeAGgufFileOrASize) {
  const FitOptions file = options({"model-Q4_K_M.gguf", "24GB"});
  EXPECT_EQ(file.gguf, "model-Q4_K_M.gguf");
  EXPECT_EQ(file.gpu, "24GB");
  EXPECT_EQ(options({"13b"}).params, "13b");
  EXPECT_EQ(options({"--vram", "24GiB", "13b"}).params, "13b");
}

TEST(Words, BesideBothFlagsAreRefused) {
  expect_bad_input(
      [] {
        options({"--model", "qwen3-4b", "--gpu", "4090", "please"});
      },
      {"'please' belongs to no flag"});
}

TEST(Words, AreAnsweredAsTheFlagsAre) {
  const auto text = [](const std::vector<std::string>& typed) {
    return ask(options(typed), Environment()).json();
  };
  EXPECT_EQ(text({"qwen3-4b", "RTX 4090"}), text({"--model", "qwen3-4b", "--gpu", "rtx4090"}));
}

TEST(Words, ASizeWithoutAUnitIsInBillions) {
  const auto request = [](const std::vector<std::string>& typed) {
    return resolve_question(options(typed), Environment()).requests.front();
  };
  const Request bare = request({"--params", "13", "--gpu", "h100"});
  EXPECT_EQ(bare.model.hidden, request({"--params", "13B", "--gpu", "h100"}).model.hidden);
  EXPECT_EQ(bare.model.notes.back(), "--params 13 is taken as 13B");
}

TEST(Words, OfACardMayBeWhatItIsSoldWith) {
  const auto budget = [](const std::vector<std::string>& typed) {
    return resolve_question(options(typed), Environment()).requests.front().budget;
  };
  for (const char* size : {"24G", "24GB", "24 GB", "24GiB"}) {
    EXPECT_EQ(budget({"qwen3-4b", size}).vram, std::uint64_t{24} << 30) << size;
  }
  EXPECT_EQ(budget({"qwen3-4b", "--vram", "24G"}).vram, std::uint64_t{24} << 30);
  EXPECT_EQ(budget({"qwen3-4b", "--vram", "24GB"}).vram, 24'000'000'000U);
  const Budget a100 = budget({"qwen3-4b", "a100"});
  EXPECT_EQ(a100.gpu, "a100-80gb");
  EXPECT_EQ(a100.notes.back(), "--gpu a100 is taken for a100-80gb; there is also a100-40gb");
}

}  // namespace
}  // namespace vramfit
