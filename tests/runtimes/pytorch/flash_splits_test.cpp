#include "runtimes/pytorch/torch/ops/flash_splits.h"

#include <gtest/gtest.h>

namespace vramfit::pytorch {
namespace {

constexpr int kA100 = 108;
constexpr int kRtx4090 = 128;

// As PyTorch 2.11 splits them on the stand-in, read off the size of its output's parts.
TEST(FlashSplits, FewRowsOfManyKeysAreSplit) {
  EXPECT_EQ(flash_splits({1, 12, 234, 234, 256}, kA100), 4);
  EXPECT_EQ(flash_splits({1, 15, 219, 219, 128}, kA100), 2);
}

TEST(FlashSplits, OneBlockOfKeysIsNone) {
  EXPECT_EQ(flash_splits({1, 1, 1, 256, 64}, kA100), 1);
  EXPECT_EQ(flash_splits({1, 1, 1, 128, 128}, kA100), 1);
  EXPECT_EQ(flash_splits({1, 1, 1, 64, 256}, kA100), 1);
}

TEST(FlashSplits, RowsThatFillTheCardAreNotSplit) {
  EXPECT_EQ(flash_splits({8, 32, 2048, 2048, 128}, kRtx4090), 1);
  // Four fifths of two blocks for each multiprocessor.
  EXPECT_EQ(flash_splits({1, 205, 64, 4096, 128}, kRtx4090), 1);
  EXPECT_GT(flash_splits({1, 100, 64, 4096, 128}, kRtx4090), 1);
}

}  // namespace
}  // namespace vramfit::pytorch
