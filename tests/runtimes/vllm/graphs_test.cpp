// Which numbers of tokens vLLM captures graphs of (config/vllm.py, _set_cudagraph_sizes).
#include "runtimes/vllm/graphs.h"

#include <gtest/gtest.h>

namespace vramfit::vllm {
namespace {

using Sizes = std::vector<std::int64_t>;

Sizes up_to(std::int64_t largest, const char* mode) {
  Options options;
  options.mode = mode;
  options.largest_capture = largest;
  return capture_sizes(options, Batch{2048, 256});
}

TEST(VllmGraphs, SizesWidenAsTheyGrow) {
  EXPECT_EQ(up_to(40, "balanced"), (Sizes{1, 2, 4, 8, 16, 24, 32, 40}));
  const Sizes usual = capture_sizes({}, Batch{2048, 256});
  EXPECT_EQ(usual.size(), 51);
  EXPECT_EQ(usual.back(), 512);
}

TEST(VllmGraphs, InteractivityCapturesEachSizeUpToThirtyTwo) {
  const Sizes sizes = up_to(50, "interactivity");
  EXPECT_EQ(sizes.size(), 34);
  EXPECT_EQ(sizes[31], 32);
  EXPECT_EQ((Sizes{sizes.end() - 2, sizes.end()}), (Sizes{40, 48}));
  EXPECT_EQ(up_to(3, "interactivity"), (Sizes{1, 2, 3}));
}

TEST(VllmGraphs, AStepThatIsNoLargerIsCapturedWhole) {
  EXPECT_EQ(capture_sizes({}, Batch{20, 16}), (Sizes{1, 2, 4, 8, 16, 20}));
  EXPECT_EQ(capture_sizes({}, Batch{20, 8}), (Sizes{1, 2, 4, 8, 16})) << "up to 16 alone";
}

}  // namespace
}  // namespace vramfit::vllm
