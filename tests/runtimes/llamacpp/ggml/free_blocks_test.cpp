#include "runtimes/llamacpp/ggml/free_blocks.h"

#include <gtest/gtest.h>

namespace vramfit::llamacpp::ggml {
namespace {

TEST(GgmlFreeBlocks, GrowAtTheEndInWholeAlignments) {
  FreeBlocks blocks(128);
  EXPECT_EQ(blocks.allocate(1), 0U);
  EXPECT_EQ(blocks.allocate(129), 128U);
  EXPECT_EQ(blocks.max_size(), 384U);
}

TEST(GgmlFreeBlocks, GiveTheSmallestThatHoldsItAndOfEqualsTheLast) {
  FreeBlocks blocks(1);
  const std::uint64_t large = blocks.allocate(30);
  blocks.allocate(1);
  const std::uint64_t first = blocks.allocate(10);
  blocks.allocate(1);
  const std::uint64_t second = blocks.allocate(10);
  blocks.allocate(1);
  blocks.free(large, 30);
  blocks.free(first, 10);
  blocks.free(second, 10);
  EXPECT_EQ(blocks.allocate(9), second);
  EXPECT_EQ(blocks.allocate(9), first);
  EXPECT_EQ(blocks.allocate(9), large);
  EXPECT_EQ(blocks.max_size(), 53U);
}

TEST(GgmlFreeBlocks, JoinTheirNeighbours) {
  FreeBlocks blocks(1);
  for (int i = 0; i < 3; ++i) blocks.allocate(10);
  blocks.allocate(1);
  blocks.free(0, 10);
  blocks.free(20, 10);
  blocks.free(10, 10);
  EXPECT_EQ(blocks.allocate(30), 0U);
}

TEST(GgmlFreeBlocks, TakeBackWhatALaterTensorLeavesOfItsSource) {
  FreeBlocks blocks(128);
  blocks.allocate(1024);
  blocks.free_behind(0, 1024, 100);
  EXPECT_EQ(blocks.allocate(896), 128U);
  EXPECT_EQ(blocks.max_size(), 1024U);
}

}  // namespace
}  // namespace vramfit::llamacpp::ggml
