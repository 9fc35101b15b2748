#include <gtest/gtest.h>

#include "estimator/ask/ask.h"

namespace vramfit {
namespace {

std::uint64_t allocated(const std::vector<std::string>& more) {
  std::vector<std::string> typed = {"--model", "llama3.2-1b", "--train", "--lora", "16",  "--batch",
                                    "2",       "--seq",       "512",     "--gpu",  "h200"};
  typed.insert(typed.end(), more.begin(), more.end());
  return ask(parse_options(typed)).answers.front().estimate.levels.allocated;
}

// torch.nn.functional.dropout saves a mask of a byte an element; its result takes the place of its
// argument as what the adapter's first product saves (peft/tuners/lora/layer.py, Linear.forward).
// The first layer's input wants no gradient, so none is saved there: PyTorch 2.11 on a card that is
// not there takes 62,914,560 bytes more, too.
TEST(LoraDropout, KeepsAMaskOfEachAdaptersInput) {
  constexpr std::uint64_t kLayers = 16;
  constexpr std::uint64_t kAdapters = 2;  // q_proj and v_proj
  constexpr std::uint64_t kMask = 2 * 512 * 2048;
  const std::uint64_t without = allocated({});
  EXPECT_EQ(allocated({"--lora-dropout", "0"}), without);
  EXPECT_EQ(allocated({"--lora-dropout", "0.05"}), without + (kLayers - 1) * kAdapters * kMask);
}

}  // namespace
}  // namespace vramfit
