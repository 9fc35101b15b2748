#include "estimator/ask/astray.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

using Why = std::map<std::string, std::string>;

Why of(const std::vector<std::string>& arguments) { return astray(own_flags(arguments)); }

TEST(Astray, WhatMakesSenseIsNot) {
  EXPECT_EQ(of({"--model=llama2-7b", "--train", "--lora=8", "--lora-targets=q_proj", "--gpus=2",
                "--bucket-view", "--quant=nf4", "--double-quant", "--headroom=1GB"}),
            Why{});
}

TEST(Astray, OfAnotherTaskOrRuntime) {
  EXPECT_EQ(of({"--train", "--generate=2", "--again"}),
            (Why{{"generate", "task"}, {"again", "task"}}));
  EXPECT_EQ(of({"--optimizer=sgd", "--cache=int8"}),
            (Why{{"optimizer", "task"}, {"cache", "runtime"}}));
  EXPECT_EQ(of({"--runtime=vramfit", "--train", "--loss-only", "--lora=8"}),
            (Why{{"loss-only", "runtime"}}));
  expect_bad_input([] { of({"--runtime=jax"}); }, {"runtime"});
}

TEST(Astray, WithoutWhatItNeeds) {
  const std::vector<std::string> buckets = {"--train", "--bucket-view", "--bucket-cap-mb=1"};
  EXPECT_EQ(of(buckets), (Why{{"bucket-view", "needs"}, {"bucket-cap-mb", "needs"}}));
  EXPECT_EQ(of({"--train", "--gpus=2", "--strategy=full_shard", "--bucket-view"}),
            (Why{{"bucket-view", "needs"}}));
  EXPECT_EQ(of({"--train", "--gpus=2", "--reshard-after-forward=false", "--reduce-dtype=bf16"}),
            (Why{{"reshard-after-forward", "needs"}, {"reduce-dtype", "needs"}}));
  EXPECT_EQ(of({"--quant=int8", "--quant-compute=fp32"}), (Why{{"quant-compute", "needs"}}));
  EXPECT_EQ(of({"--runtime=vramfit", "--double-quant"}), (Why{{"double-quant", "needs"}}));
  EXPECT_EQ(of({"--runtime=vramfit", "--head=quantized"}), (Why{{"head", "needs"}}));
  EXPECT_EQ(of({"--runtime=vramfit", "--head=quantized", "--precision=nf4"}), Why{});
}

TEST(Astray, SwitchesAreFitsAndTheRuntimes) {
  const std::vector<std::string> names = switches();
  for (const char* name : {"train", "strict", "double-quant", "loss-only", "bucket-view"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
  EXPECT_EQ(std::find(names.begin(), names.end(), "lora"), names.end());
}

}  // namespace
}  // namespace vramfit
