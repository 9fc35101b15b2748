#include <gtest/gtest.h>

#include "runtimes/pytorch/torch/ops/attention_kernels.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/context.h"
#include "tests/runtimes/pytorch/cases.h"

namespace vramfit::pytorch {
namespace {

struct Made {
  std::uint64_t bytes;  ///< beyond the mask given
  std::int64_t width;
};

/// aligned_mask of an fp32 mask of 2 sequences, 64 queries and so many keys.
Made aligned(std::int64_t keys) {
  Tape tape(1);
  Context context(tape, measured_release(), h200(), kUnlimitedBytes);
  const Tensor mask = empty(context, {2, 1, 64, keys}, ScalarType::Float);
  tape.take();
  const Tensor result = aligned_mask(mask, 1);
  std::uint64_t bytes = 0;
  for (const Act& act : tape.take().acts) {
    bytes += act.kind == Act::Kind::Allocate ? act.bytes : -act.bytes;
  }
  return {bytes, result.size(-1)};
}

TEST(Mask, RowsOfAMultipleOfEightAreTakenAsTheyAre) {
  EXPECT_EQ(aligned(16).bytes, 0U);
  EXPECT_EQ(aligned(16).width, 16);
}

TEST(Mask, OthersAreASliceOfAWiderCopy) {
  EXPECT_EQ(aligned(17).bytes, 2U * 64 * 24 * 4);
  EXPECT_EQ(aligned(17).width, 17);
}

}  // namespace
}  // namespace vramfit::pytorch
