#include <gtest/gtest.h>

#include <algorithm>

#include "runtimes/pytorch/torch/ops/attention_kernels.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/context.h"
#include "runtimes/pytorch/transformers/modules/masks.h"
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

/// The largest tensor on the way to a window's mask of 3 rows of 32 tokens.
std::uint64_t largest_of_window(bool with_padding) {
  Tape tape(1);
  Context context(tape, measured_release(), h200(), kUnlimitedBytes);
  MaskRequest request;
  request.batch = 3;
  request.queries = request.keys = 32;
  request.cached = request.empty = true;
  request.window = 8;
  if (with_padding) request.padding = empty(context, {3, 32}, ScalarType::Long);
  tape.take();
  create_causal_mask(context, AttentionKind::Sdpa, request);
  std::uint64_t largest = 0;
  for (const Act& act : tape.take().acts) {
    if (act.kind == Act::Kind::Allocate) largest = std::max(largest, act.bytes);
  }
  return largest;
}

TEST(Mask, OfAWindowIsOfEachRowWhereGenerateSaysWhatIsPadding) {
  EXPECT_EQ(largest_of_window(false), 32U * 32);
  EXPECT_EQ(largest_of_window(true), 3U * 32 * 32);  // though it hides nothing
}

}  // namespace
}  // namespace vramfit::pytorch
