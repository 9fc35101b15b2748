#include "runtimes/llamacpp/read_options.h"

#include <gtest/gtest.h>

#include "tests/support/expect_bad_input.h"

namespace vramfit::llamacpp {
namespace {

Options read(const Flags& flags) { return read_options(flags, true); }

TEST(LlamaCppOptions, LayersAreANumberHoweverManyOrAWord) {
  EXPECT_EQ(read({}).placement.gpu_layers, kLayersLeftOpen);
  EXPECT_EQ(read({{"gpu-layers", "auto"}}).placement.gpu_layers, kLayersLeftOpen);
  EXPECT_EQ(read({{"gpu-layers", "-1"}}).placement.gpu_layers, kLayersLeftOpen);
  EXPECT_EQ(read({{"gpu-layers", "all"}}).placement.gpu_layers, kAllLayers);
  EXPECT_EQ(read({{"gpu-layers", "0"}}).placement.gpu_layers, 0);
  EXPECT_EQ(read({{"gpu-layers", "999"}}).placement.gpu_layers, 999);
  EXPECT_EQ(read({{"n-cpu-moe", "999"}}).placement.cpu_moe_layers, 999);
  expect_bad_input([] { read({{"gpu-layers", "-3"}}); }, {"gpu-layers", "-3", "from 0"});
  expect_bad_input([] { read({{"gpu-layers", "some"}}); }, {"gpu-layers", "some", "from 0"});
}

// common/arg.cpp splits them at commas and at slashes, and reads floats.
TEST(LlamaCppOptions, SharesAreNumbersBetweenCommasOrSlashes) {
  const auto shares = [](const char* text) {
    return read({{"gpus", "2"}, {"tensor-split", text}}).placement.tensor_split;
  };
  EXPECT_EQ(shares("3,1"), (std::vector<double>{3, 1}));
  EXPECT_EQ(shares("3/1"), (std::vector<double>{3, 1}));
  EXPECT_EQ(shares("0.6,0.4"), (std::vector<double>{0.6, 0.4}));
  expect_bad_input([&] { shares("3,x"); }, {"tensor-split", "x", "a number"});
  expect_bad_input([&] { shares("3,-1"); }, {"tensor-split", "-1", "a number from 0"});
}

TEST(LlamaCppOptions, OneMarginIsForAllAndSeveralAreForTheFirst) {
  const auto margins = [](const char* text) {
    return read({{"gpus", "3"}, {"fit", "on"}, {"fit-target", text}}).margins;
  };
  EXPECT_EQ(margins("512"), std::vector<std::uint64_t>(3, 512 * kMiB));
  EXPECT_EQ(margins("512,2048"),
            (std::vector<std::uint64_t>{512 * kMiB, 2048 * kMiB, 1024 * kMiB}));
  EXPECT_EQ(margins("0/1/2"), (std::vector<std::uint64_t>{0, kMiB, 2 * kMiB}));
  expect_bad_input([&] { margins("1,2,3,4"); }, {"fit-target: 4 sizes", "3 GPUs"});
  expect_bad_input([&] { margins("-5"); }, {"fit-target", "-5"});
  expect_bad_input([&] { margins(""); }, {"fit-target"});
}

// tools/server/server.cpp: four on one cache where nobody says how many.
TEST(LlamaCppOptions, SlotsThatNobodyCountsShareOneCache) {
  EXPECT_EQ(read({}).context.sequences, 4);
  EXPECT_TRUE(read({}).context.unified);
  EXPECT_EQ(read({{"parallel", "-1"}}).context.sequences, 4);
  EXPECT_TRUE(read({{"parallel", "-1"}}).context.unified);
  EXPECT_EQ(read({{"parallel", "3"}}).context.sequences, 3);
  EXPECT_FALSE(read({{"parallel", "3"}}).context.unified);
  EXPECT_TRUE(read({{"parallel", "3"}, {"kv-unified", ""}}).context.unified);
  expect_bad_input([] { read({{"parallel", "0"}}); }, {"parallel", "from 1 to 256"});
}

}  // namespace
}  // namespace vramfit::llamacpp
