#include "tests/kernels/cuda/support/lab.h"

namespace vramfit {
namespace {

struct Sizes {
  std::int64_t tokens;
  std::int64_t hidden;
  std::int64_t vocab;
  std::int64_t stored;
  std::int64_t chunk;

  std::string text() const {
    return std::to_string(tokens) + " x " + std::to_string(hidden) + " to " +
           std::to_string(vocab) + " by " + std::to_string(chunk);
  }
};

/// One token, one chunk, many chunks, a last one that is short, no padding, a long row.
constexpr Sizes kSizes[] = {{1, 4, 5, 128, 1},        {7, 12, 29, 128, 7},
                            {50, 24, 100, 128, 8},    {129, 16, 256, 256, 1},
                            {65, 64, 1000, 1024, 64}, {5, 8, 50257, 50304, 2},
                            {33, 9, 17, 17, 10}};

class HeadTest : public OpTest {};

void check(DType dtype, const Sizes& s, bool accumulate, bool frozen = false) {
  Lab lab(dtype);
  const bool summed = is_16_bit(dtype) && s.chunk < s.tokens && !frozen;
  Twin hidden = lab.random({s.tokens, s.hidden});
  Twin weight = lab.random({s.vocab, s.hidden}, {s.stored, s.hidden}, 0.5F);
  Twin targets = lab.tokens({1, s.tokens}, s.vocab);
  Twin scaler = lab.values(DType::Fp32, {LossScale::kValues}, {1024.0F, 0.0F, 0.0F});
  Twin loss = lab.values(DType::Fp32, {1}, {1.5F});
  Twin dweight = lab.target({s.vocab, s.hidden}, {s.stored, s.hidden}, accumulate);
  Twin logits = lab.empty({s.chunk, s.stored});
  Twin sum = lab.floats({s.stored, s.hidden});
  Twin workspace = lab.gemm_workspace();
  const float loss_weight = 1.0F / static_cast<float>(s.tokens);
  lab.run([&](Device& device, Side side) {
    device.run(HeadLoss{side(hidden), side(weight), side(targets), s.chunk, loss_weight,
                        dtype == DType::Fp16 ? side(&scaler) : nullptr, side(loss),
                        frozen ? nullptr : side(&dweight), accumulate && !frozen, side(logits),
                        summed ? side(&sum) : nullptr, side(workspace)});
  });
  const std::string what = s.text() + (accumulate ? ", added" : ", written");
  // Logits are rounded in between: where one goes the other way, its softmax and gradient follow.
  lab.expect_close(loss, {2e-5, 5e-4, 5e-3}, "loss of " + what);
  lab.expect_close(hidden, Bound::once.times(4), "dhidden of " + what);
  if (!frozen) lab.expect_close(dweight, Bound::once.times(4), "dweight of " + what);
}

TEST_P(HeadTest, WritesTheGradient) {
  for (const Sizes& s : kSizes) check(GetParam(), s, false);
}

TEST_P(HeadTest, AddsToTheGradient) {
  for (const Sizes& s : kSizes) check(GetParam(), s, true);
}

TEST_P(HeadTest, OfAFrozenHeadIsForItsInputAlone) {
  for (const Sizes& s : kSizes) check(GetParam(), s, false, true);
}

VRAMFIT_FOR_EACH_DTYPE(HeadTest);

}  // namespace
}  // namespace vramfit
