#include "runtimes/llamacpp/weights/overrides.h"

#include <gtest/gtest.h>

namespace vramfit::llamacpp {
namespace {

bool matches(const std::string& pattern, const std::string& name) {
  Placement placement;
  placement.overrides = {{pattern, "CPU"}};
  return Overrides(placement, 1).of(name).has_value();
}

/// Patterns that begin with a layer are taken apart: they mean what std::regex says all the same.
TEST(LlamaCppOverrides, MatchAsRegularExpressionsDo) {
  const std::vector<std::string> patterns = {
      "attn",
      "blk\\.1\\.ffn_(gate|up|gate_up|down).*",
      "blk\\.1\\.ffn|blk\\.2\\.attn",
      "blk\\.1\\.*ffn",
      "blk\\.1\\.",
      "blk\\.1",
      "blk\\.1[0-9]\\.attn_q",
      "blk\\.(1|2)\\.attn_q",
      "blk\\.1\\.(attn|ffn)_[a-q]",
      "ffn_(up|down)_exps",
      "^output\\.weight$",
  };
  const std::vector<std::string> names = {
      "blk.1.attn_q.weight",  "blk.11.attn_q.weight",     "blk.2.attn_q.weight",
      "blk.1.ffn_up.weight",  "blk.1.ffn_up_exps.weight", "blk.2.ffn_down_exps.weight",
      "output.weight",        "token_embd.weight",        "blk.1.ffn_norm.weight",
      "blk.21.ffn_up.weight",
  };
  for (const std::string& pattern : patterns) {
    for (const std::string& name : names) {
      EXPECT_EQ(matches(pattern, name), std::regex_search(name, std::regex(pattern)))
          << pattern << " " << name;
    }
  }
}

TEST(LlamaCppOverrides, TakeTheFirstThatMatches) {
  Placement placement;
  placement.overrides = {{"blk\\.1\\.attn", "CUDA1"}, {"attn", "CPU"}};
  const Overrides overrides(placement, 2);
  EXPECT_EQ(overrides.of("blk.1.attn_q.weight"), 1);
  EXPECT_EQ(overrides.of("blk.2.attn_q.weight"), Overrides::kHost);
  EXPECT_EQ(overrides.of("blk.2.ffn_up.weight"), std::nullopt);
}

TEST(LlamaCppOverrides, KeepExpertsOfTheFirstLayersOnTheHost) {
  Placement placement;
  placement.cpu_moe_layers = 2;
  const Overrides overrides(placement, 1);
  for (const char* name : {"blk.1.ffn_up_exps.weight", "blk.0.ffn_gate_up_exps.weight",
                           "blk.1.ffn_down_exps.scale", "blk.1.ffn_gate_exps.bias"}) {
    EXPECT_EQ(overrides.of(name), Overrides::kHost) << name;
  }
  for (const char* name : {"blk.2.ffn_up_exps.weight", "blk.1.ffn_up_shexp.weight",
                           "blk.1.ffn_up.weight", "token_embd.weight"}) {
    EXPECT_EQ(overrides.of(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace vramfit::llamacpp
