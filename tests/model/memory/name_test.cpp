#include "model/memory/name.h"

#include <gtest/gtest.h>

#include "model/memory/category.h"

namespace vramfit {
namespace {

TEST(Name, IsWrittenWithItsLayerAndPart) {
  EXPECT_EQ(Name("loss").text(), "loss");
  EXPECT_EQ(Name("qkv.weight", 3).text(), "layers.3.qkv.weight");
  EXPECT_EQ(Name("qkv.weight", 0).text(), "layers.0.qkv.weight");
  EXPECT_EQ(Name("qkv.weight", 3).part("m").text(), "layers.3.qkv.weight.m");
  EXPECT_EQ(Name("head.weight").part("v").text(), "head.weight.v");
  EXPECT_EQ(Name().text(), "");
}

TEST(Name, ComparesWhatItSaysNotWhereItStands) {
  static const char here[] = "same";
  static const char there[] = "same";
  EXPECT_TRUE(Name(here, 1) == Name(there, 1));
  EXPECT_TRUE(Name("x").part("m") == Name("x").part("m"));
  EXPECT_FALSE(Name("x", 1) == Name("x", 2));
  EXPECT_FALSE(Name("x") == Name("x", 0));
  EXPECT_FALSE(Name("x") == Name("y"));
  EXPECT_FALSE(Name("x").part("m") == Name("x").part("v"));
  EXPECT_FALSE(Name("x").part("m") == Name("x"));
}

// Flags, JSON and the counters' names are made of these, and runs are joined by them.
TEST(Category, NamesAreFrozen) {
  EXPECT_STREQ(name(Category::Parameters), "parameters");
  EXPECT_STREQ(name(Category::Gradients), "gradients");
  EXPECT_STREQ(name(Category::OptimizerState), "optimizer_state");
  EXPECT_STREQ(name(Category::Activations), "activations");
  EXPECT_STREQ(name(Category::KvCache), "kv_cache");
  EXPECT_STREQ(name(Category::Workspace), "workspace");
  EXPECT_STREQ(name(Category::Inputs), "inputs");
  EXPECT_STREQ(name(Category::Communication), "communication");
}

TEST(Stage, NamesAreFrozen) {
  EXPECT_STREQ(name(Stage::Loaded), "loaded");
  EXPECT_STREQ(name(Stage::Forward), "forward");
  EXPECT_STREQ(name(Stage::Backward), "backward");
  EXPECT_STREQ(name(Stage::Optimizer), "optimizer");
  EXPECT_STREQ(name(Stage::ZeroGrad), "zero_grad");
  EXPECT_STREQ(name(Stage::Prefill), "prefill");
  EXPECT_STREQ(name(Stage::Decode), "decode");
}

}  // namespace
}  // namespace vramfit
