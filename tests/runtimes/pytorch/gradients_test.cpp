// What autograd keeps and copies, in cases that no whole run in the fixtures has.
#include <gtest/gtest.h>

#include <cstdint>

#include "runtimes/pytorch/torch/autograd/engine.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/four_bits.h"
#include "runtimes/pytorch/torch/ops/reduction.h"
#include "runtimes/pytorch/torch/ops/unary.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/checkpoint.h"
#include "runtimes/pytorch/torch/tensor/context.h"
#include "tests/runtimes/pytorch/cases.h"

namespace vramfit::pytorch {
namespace {

constexpr std::uint64_t kBytes = 4096 * 4;  // of the tensors that are counted

Tensor learned(Context& context, const Dims& sizes) {
  Tensor leaf = empty(context, sizes, ScalarType::Float);
  leaf.impl()->requires_grad = true;
  return leaf;
}

struct Count {
  int made = 0;
  int lives = 0;
};

Count count(Tape& tape) {
  Count count;
  for (const Act& act : tape.take().acts) {
    if (act.bytes != kBytes) continue;
    if (act.kind == Act::Kind::Allocate) ++count.made, ++count.lives;
    if (act.kind == Act::Kind::Free) --count.lives;
  }
  return count;
}

/// How many tensors live on after the backward of a layer that computes x, exp(x), exp(exp(x)), …
/// and leaves the third for others, as gemma4's leave keys, or leaves nothing.
int left_by_checkpoint(bool leaves) {
  Tape tape(1);
  Context context(tape, measured_release(), h200(), kUnlimitedBytes);
  const Tensor x = learned(context, {4096});
  Tensor left;
  tape.take();
  const auto layer = [&](const Tensor& input) {
    const Tensor third = exp(exp(exp(input)));
    if (leaves) left = third;
    return exp(third);
  };
  backward(sum(checkpoint(context, layer, x), bit(0), false));
  return count(tape).lives;
}

TEST(Checkpoint, ARecomputationsGraphLivesAsLongAsWhatItLeaves) {
  EXPECT_EQ(left_by_checkpoint(false), 1);     // the gradient
  EXPECT_EQ(left_by_checkpoint(true), 1 + 3);  // it, and what each of the three saved
}

/// How many tensors as large as the gradient the backward of 4 bits makes; `turned`: it comes as
/// its transpose lies in memory.
int made_by_four_bits(bool turned) {
  Tape tape(1);
  Context context(tape, measured_release(), h200(), kUnlimitedBytes);
  const FourBits weight =
      quantize_4bit(empty(context, {64, 64}, ScalarType::Float), false, ScalarType::Byte);
  const Tensor x = learned(context, {2, 32, 64});
  Tensor y = matmul_4bit(x, weight, {});
  if (turned) y = contiguous(transpose(y, 1, 2));
  const Tensor loss = sum(mul(y, y), bit(0) | bit(1) | bit(2), false);
  tape.take();
  backward(loss);
  return count(tape).made;
}

TEST(FourBits, AGradientThatLiesTurnedIsMultipliedAsItLies) {
  EXPECT_EQ(made_by_four_bits(false), made_by_four_bits(true));
}

}  // namespace
}  // namespace vramfit::pytorch
