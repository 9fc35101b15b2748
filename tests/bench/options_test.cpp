#include "bench/command/options.h"

#include <gtest/gtest.h>

#include "model/errors.h"

namespace vramfit::bench {
namespace {

using Words = std::vector<std::string>;

Options parse(Words words) {
  words.insert(words.begin(), "bench");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return parse_options(static_cast<int>(argv.size()), argv.data());
}

const Words& values(const Options& options, Axis axis) { return options.axes[index(axis)]; }

TEST(Options, ListsAreSplitAndSpelledInOneWay) {
  const Options options = parse({"--batch=04,2,4", "--optimizer", "adamw,sgd"});
  EXPECT_EQ(values(options, Axis::Batch), (Words{"4", "2"}));
  EXPECT_EQ(values(options, Axis::Optimizer), (Words{"adamw", "sgd"}));
  EXPECT_TRUE(values(options, Axis::Seq).empty());
}

TEST(Options, WhatIsNotOursGoesToGoogleBenchmark) {
  const Options options = parse({"--benchmark_repetitions=3", "--seq=512", "--v=1"});
  EXPECT_EQ(options.google.pass_on, (Words{"--benchmark_repetitions=3", "--v=1"}));
}

TEST(Options, GoogleBenchmarksFlagsThatNamesAndReportsDependOn) {
  const GoogleFlags flags =
      parse({"--benchmark_filter=-Training", "--benchmark_list_tests", "--benchmark_out=x.csv",
             "--benchmark_out_format=csv", "--benchmark_min_time=0.1"})
          .google;
  EXPECT_EQ(flags.filter, "-Training");
  EXPECT_TRUE(flags.list);
  EXPECT_EQ(flags.out, "x.csv");
  EXPECT_EQ(flags.out_format, "csv");
  EXPECT_EQ(flags.format, "console");
  EXPECT_TRUE(flags.min_time);
  EXPECT_EQ(flags.pass_on.size(), 3U);  // neither the filter nor the list
}

TEST(Options, AListMayBeSwitchedOff) {
  EXPECT_FALSE(parse({"--benchmark_list_tests=false"}).google.list);
  EXPECT_TRUE(parse({"--benchmark_list_tests=1"}).google.list);
}

TEST(Options, RefusesWhatNoAxisHas) {
  for (const char* word :
       {"--batch=0", "--batch=-1", "--batch=1.5", "--batch=x", "--batch=4x", "--batch=1,,2",
        "--batch=", "--batch=99999999999999999999", "--seq=0", "--accumulate=0", "--generate=0",
        "--precision=int3", "--optimizer=adam", "--attention=full", "--gpu=rtx1",
        "--benchmark_format=xml", "--benchmark_out_format=xml"}) {
    EXPECT_THROW(parse({word}), BadInput) << word;
  }
}

TEST(Options, RefusesAModelTwice) {
  EXPECT_THROW(parse({"--model=llama2-7b", "--config=x/config.json"}), BadInput);
  EXPECT_THROW(parse({"--seq=512", "--seq=1024"}), BadInput);
}

}  // namespace
}  // namespace vramfit::bench
