#include "standin/libraries/cudnn_convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <ranges>
#include <vector>

namespace vramfit::standin {
namespace {

constexpr int kFloat = 0;
constexpr int kDouble = 1;
constexpr int kHalf = 2;

using Sizes = std::vector<std::int64_t>;

CudnnTensor tensor(int type, const Sizes& sizes, bool channels_last = false) {
  CudnnTensor made{type, static_cast<int>(sizes.size()), {}, {}};
  std::copy(sizes.begin(), sizes.end(), made.sizes.begin());
  std::vector<std::size_t> inwards(sizes.size());
  std::iota(inwards.begin(), inwards.end(), 0);
  if (channels_last) std::rotate(inwards.begin() + 1, inwards.begin() + 2, inwards.end());
  std::int64_t stride = 1;
  for (const std::size_t i : std::views::reverse(inwards)) {
    made.strides[i] = stride;
    stride *= sizes[i];
  }
  return made;
}

struct Asked {
  int type;
  Sizes x, w, y;
  std::int64_t workspace;  ///< by cuDNN 9.19.0's heuristics
  int sm = 90;
  bool channels_last = false;
};

std::int64_t ours(const Asked& asked) {
  return convolution_workspace({tensor(asked.type, asked.x, asked.channels_last),
                                tensor(asked.type, asked.w, asked.channels_last),
                                tensor(asked.type, asked.y, asked.channels_last)},
                               asked.sm);
}

/// But for what an engine aligns to, which no block of the allocator's shows.
TEST(CudnnConvolution, WorksInWhatCudnnSays) {
  const Asked cases[] = {
      {kHalf, {1, 256, 512, 512}, {128, 256, 3, 3}, {1, 128, 512, 512}, 201916563},
      {kHalf, {1, 256, 512, 512}, {128, 256, 3, 3}, {1, 128, 512, 512}, 201916432, 75},
      {kHalf, {1, 256, 512, 512}, {128, 256, 3, 3}, {1, 128, 512, 512}, 201916432, 120},
      {kHalf, {1, 256, 512, 512}, {128, 256, 3, 3}, {1, 128, 512, 512}, 131, 90, true},
      {kFloat, {1, 256, 512, 512}, {128, 256, 3, 3}, {1, 128, 512, 512}, 403832979},
      // a weight of one pixel lies channels last anyhow
      {kHalf, {1, 512, 256, 256}, {256, 512, 1, 1}, {1, 256, 256, 256}, 100663443},
      // channels are filled up: to 8 of 16 bits, to 4 of 32
      {kHalf, {1, 128, 512, 512}, {3, 128, 3, 3}, {1, 3, 512, 512}, 71321616},
      {kHalf, {1, 3, 512, 512}, {128, 3, 3, 3}, {1, 128, 512, 512}, 4212752, 80, true},
      {kFloat, {1, 128, 512, 512}, {3, 128, 3, 3}, {1, 3, 512, 512}, 138430611},
      // groups, strides, three sizes of space
      {kHalf, {8, 512, 64, 64}, {512, 128, 3, 3}, {8, 512, 64, 64}, 68288659},
      {kHalf, {2, 320, 64, 64}, {320, 320, 3, 3}, {2, 320, 32, 32}, 8396947},
      {kHalf, {1, 128, 9, 128, 128}, {128, 128, 3, 3, 3}, {1, 128, 9, 128, 128}, 76382355},
  };
  for (const Asked& asked : cases) EXPECT_LT(std::abs(ours(asked) - asked.workspace), 512);
}

TEST(CudnnConvolution, WithoutTensorCoresNothingIsCopied) {
  const Sizes x{1, 256, 64, 64};
  const Sizes w{256, 256, 3, 3};
  EXPECT_EQ(ours({kFloat, x, w, x, 0, 75}), 0);
  EXPECT_EQ(ours({kDouble, x, w, x, 0, 90}), 0);
}

}  // namespace
}  // namespace vramfit::standin
