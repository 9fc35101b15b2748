// A script's run, as it was recorded, is asked about like any other.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "estimator/ask/ask.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

using Json = nlohmann::json;

// 1 GiB of parameters, and of activations 256 KiB a token.
const std::string kTape = R"(vramfit run-tape 1
made torch 2.11.0
command python train.py --batch {batch} --seq {seq} --width {width}
gpu h200 90
vary batch seq width
at 2 128 8
at 3 192 8
at 5 256 8
checked 7 320 8
step 0
stage load
alloc 134217728*width parameters
step 1
stage forward
alloc 262144*batch*seq activations
free 0
stage optimizer
step 2 repeats
stage forward
alloc 262144*batch*seq activations
free 0
stage optimizer
)";

Json told(std::vector<std::string> flags, const std::string& tape = kTape) {
  Environment environment;
  environment.tape = [&](const std::string&) { return tape; };
  flags.insert(flags.end(), {"--tape", "my.tape"});
  return Json::parse(ask(parse_options(flags), environment).json());
}

TEST(Recorded, IsAskedAboutAtASize) {
  const Json answer = told({"--batch", "8", "--seq", "1024", "--gpu", "rtx4090"});
  EXPECT_EQ(answer.at("runtime"), "recorded");
  EXPECT_EQ(answer.at("asked").at("mode"), "training");
  EXPECT_EQ(answer.at("asked").at("at"), Json({{"batch", 8}, {"seq", 1024}, {"width", 8}}));
  EXPECT_EQ(answer.at("verdict"), "FITS");
  EXPECT_EQ(answer.at("components").at("activations"), std::uint64_t{262144} * 8 * 1024);
  EXPECT_EQ(answer.at("peak"), Json({{"stage", "forward"}, {"step", 1}}));
  EXPECT_EQ(told({"--at", "width=16", "--gpu", "rtx4090"}).at("components").at("parameters"),
            std::uint64_t{1} << 31);
}

TEST(Recorded, TheLargestIsSearchedFor) {
  const Json answer = told({"--seq", "1024", "--gpu", "rtx4090", "--max-batch"});
  const auto largest = answer.at("max_batch").get<std::int64_t>();
  const auto fits = [&](std::int64_t batch) {
    return told({"--seq", "1024", "--gpu", "rtx4090", "--batch", std::to_string(batch)}).at("fits");
  };
  EXPECT_GT(largest, 50);
  EXPECT_EQ(fits(largest), true);
  EXPECT_EQ(fits(largest + 1), false);
  EXPECT_GT(told({"--batch", "8", "--gpu", "rtx4090", "--max-seq"}).at("max_seq"), 1024);
}

TEST(Recorded, AnotherCardIsSaidToBeOne) {
  const auto notes = [](const char* gpu) { return told({"--gpu", gpu}).at("notes").dump(); };
  EXPECT_NE(notes("rtx4090").find("recorded on sm_90"), std::string::npos);
  EXPECT_EQ(notes("h200").find("recorded on"), std::string::npos);
}

TEST(Recorded, AdviceIsASmallerSize) {
  const Json answer = told({"--batch", "64", "--seq", "2048", "--gpu", "rtx4090", "--advise"});
  EXPECT_EQ(answer.at("verdict"), "OOM");
  EXPECT_EQ(answer.at("out_of_memory").at("stage"), "forward");
  std::set<std::string> changed;
  for (const Json& advice : answer.at("advice")) {
    EXPECT_EQ(advice.at("verdict"), "FITS");
    const std::string flags = advice.at("flags");
    changed.insert(flags.substr(0, flags.find(' ')));
  }
  EXPECT_EQ(changed, (std::set<std::string>{"--batch", "--seq"}));
  EXPECT_FALSE(answer.at("fits_on").empty());
}

TEST(Recorded, WhatWasNotVariedCannotBeAskedFor) {
  expect_bad_input([] { told({"--at", "depth=3", "--gpu", "h200"}); }, {"depth", "does not vary"});
  expect_bad_input([] { told({"--at", "width", "--gpu", "h200"}); }, {"at", "no NAME=N"});
  expect_bad_input([] { told({"--batch", "0", "--gpu", "h200"}); }, {"batch"});
  expect_bad_input([] { told({"--precision", "bf16", "--gpu", "h200"}); }, {"precision"});
  expect_bad_input([] { told({"--model", "gpt2-124m", "--gpu", "h200"}); }, {"--tape", "--model"});
  expect_bad_input([] { told({"--gpu", "h200", "--runtime", "pytorch"}); }, {"--runtime recorded"});
  expect_bad_input(
      [] {
        ask(parse_options({"--runtime", "recorded", "gpt2-124m", "--gpu", "h200"}), {});
      },
      {"--tape"});
  expect_bad_input(
      [] {
        ask(parse_options({"--tape", "x", "--gpu", "h200"}), {});
      },
      {"'x' is a path"});
}

TEST(Recorded, ATapeThatDidNotHoldSaysForWhatItDoes) {
  std::string bounded = kTape;
  bounded.replace(bounded.find("checked 7 320 8"), 15, "bounded at batch 7: another kernel");
  const Json answer = told({"--batch", "5", "--gpu", "h200"}, bounded);
  EXPECT_EQ(answer.at("verdict"), "FITS");
  EXPECT_NE(answer.at("notes").dump().find("did not hold at batch 7"), std::string::npos);
  expect_bad_input(
      [&] {
        told({"--batch", "6", "--gpu", "h200"}, bounded);
      },
      {"holds for batch 2 to 5, seq 128 to 256"});
  EXPECT_LE(told({"--gpu", "h200", "--max-batch"}, bounded).at("max_batch"), 5);
}

}  // namespace
}  // namespace vramfit
