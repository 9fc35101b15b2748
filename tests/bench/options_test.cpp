#include "bench/command/options.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/expect_bad_input.h"

namespace vramfit::bench {
namespace {

using Words = std::vector<std::string>;

BenchOptions parse(Words words) {
  words.insert(words.begin(), "bench");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return parse_options(static_cast<int>(argv.size()), argv.data());
}

const Words& values(const BenchOptions& options, Axis axis) { return options.axes[index(axis)]; }

TEST(BenchOptions, ListsAreSplitAndSpelledInOneWay) {
  const BenchOptions options = parse({"--batch=04,2,4", "--optimizer", "adamw,sgd"});
  EXPECT_EQ(values(options, Axis::Batch), (Words{"4", "2"}));
  EXPECT_EQ(values(options, Axis::Optimizer), (Words{"adamw", "sgd"}));
  EXPECT_TRUE(values(options, Axis::Seq).empty());
}

TEST(BenchOptions, WhatIsNotOursGoesToGoogleBenchmark) {
  const BenchOptions options = parse({"--benchmark_repetitions=3", "--seq=512", "--v=1"});
  EXPECT_EQ(options.google.pass_on, (Words{"--benchmark_repetitions=3", "--v=1"}));
}

TEST(BenchOptions, GoogleBenchmarksFlagsThatNamesAndReportsDependOn) {
  const GoogleFlags flags =
      parse({"--benchmark_filter=-Training", "--benchmark_list_tests", "--benchmark_out=x.csv",
             "--benchmark_out_format=csv", "--benchmark_min_time=0.1"})
          .google;
  EXPECT_EQ(flags.filter, "-Training");
  EXPECT_TRUE(flags.list);
  EXPECT_EQ(flags.out, "x.csv");
  EXPECT_EQ(flags.out_format, "csv");
  EXPECT_EQ(flags.format, "console");
  EXPECT_EQ(flags.min_time->seconds, 0.1);
  EXPECT_EQ(flags.pass_on.size(), 1U);  // neither the filter, the list, the file nor the time
}

TEST(BenchOptions, MinTimeIsSecondsOrIterations) {
  const auto time_of = [](const char* word) { return *parse({word}).google.min_time; };
  EXPECT_EQ(time_of("--benchmark_min_time=0.5s").seconds, 0.5);
  EXPECT_EQ(time_of("--benchmark_min_time=100x").iterations, 100);
  EXPECT_FALSE(time_of("--benchmark_min_time=100x").seconds);
  setenv("BENCHMARK_MIN_TIME", "7x", 1);
  expect_bad_input([&] { time_of("--benchmark_min_time=0s"); }, {"more than 0 seconds"});
  EXPECT_EQ(parse({}).google.min_time->iterations, 7);
  unsetenv("BENCHMARK_MIN_TIME");
}

TEST(BenchOptions, AListMayBeSwitchedOff) {
  EXPECT_FALSE(parse({"--benchmark_list_tests=false"}).google.list);
  EXPECT_TRUE(parse({"--benchmark_list_tests=1"}).google.list);
}

TEST(BenchOptions, RefusesWhatNoAxisHas) {
  for (const char* word :
       {"--batch=0", "--batch=-1", "--batch=1.5", "--batch=x", "--batch=4x", "--batch=1,,2",
        "--batch=", "--batch=99999999999999999999", "--seq=0", "--accumulate=0", "--generate=0",
        "--precision=int3", "--optimizer=adam", "--attention=full", "--gpu=rtx1",
        "--benchmark_format=xml", "--benchmark_out_format=xml"}) {
    EXPECT_THROW(parse({word}), BadInput) << word;
  }
}

struct Bad {
  const char* word;
  const char* message;
};

TEST(BenchOptions, RefusesValuesByFlagValueAndRange) {
  const Bad bad[] = {
      {"--vram=0", "vram: is '0'; the size of a GPU"},
      {"--vram=24GB,0GiB", "vram: is '0GiB'; the size of a GPU"},
      {"--vram=h200", "vram: is 'h200'; a size"},
      {"--gpu=0GB", "gpu: is '0GB'; the size of a GPU"},
      {"--batch=1048577", "batch: is '1048577'; a whole number from 1 to 1048576"},
      {"--speed-seconds=-1", "speed-seconds: is '-1'; a number from 0 to 3600"},
      {"--speed-seconds=1e400", "speed-seconds: is '1e400'; a number from 0 to 3600"},
      {"--speed-seconds=nan", "speed-seconds: is 'nan'; a number from 0 to 3600"},
      {"--speed-seconds=inf", "speed-seconds: is 'inf'; a number from 0 to 3600"},
      {"--speed-seconds=2s", "speed-seconds: is '2s'; a number from 0 to 3600"},
      {"--benchmark_repetitions=-1", "benchmark_repetitions: is '-1'; a whole number from 1 to"},
      {"--benchmark_repetitions=0", "benchmark_repetitions: is '0'; a whole number from 1 to"},
      {"--benchmark_repetitions=99999999999", "benchmark_repetitions: is '99999999999'; a whole"},
      {"--benchmark_min_time=NaN", "benchmark_min_time: is 'NaN'; a number from 0 to 3600"},
      {"--benchmark_min_time=-1", "benchmark_min_time: is '-1'; a number from 0 to 3600"},
      {"--benchmark_min_time=0x", "benchmark_min_time: is '0'; a whole number from 1 to"},
      {"--benchmark_min_time=s", "benchmark_min_time: is ''; a number from 0 to 3600"},
      {"--benchmark_min_warmup_time=1e400", "benchmark_min_warmup_time: is '1e400'; a number"},
      {"--benchmark_time_unit=h", "benchmark_time_unit: is 'h'; one of ns,us,ms,s"},
      {"--benchmark_color=red", "benchmark_color: is 'red'; one of auto,true,false"},
      {"--benchmark_counters_tabular=x", "benchmark_counters_tabular: is 'x'; one of true,false"},
      {"--benchmark_list_tests=", "benchmark_list_tests: is ''; one of true,false"},
      {"--benchmark_context=a", "benchmark_context: is 'a'; key=value"},
      {"--benchmark_context=a=b,=c", "benchmark_context: is 'a=b,=c'; key=value"},
      {"--v=x", "v: is 'x'; a whole number"},
  };
  for (const auto& [word, message] : bad) {
    expect_bad_input([word = word] { parse({word}); }, {message});
  }
}

TEST(BenchOptions, TakesWhatGoogleBenchmarkTakes) {
  EXPECT_NO_THROW(parse({"--benchmark_min_time=0.01", "--benchmark_repetitions=3",
                         "--benchmark_color=Auto", "--benchmark_counters_tabular=yes",
                         "--benchmark_time_unit=us", "--benchmark_context=a=b,c=d", "--v=2"}));
  EXPECT_EQ(parse({"--benchmark_context=a=b,c=d"}).google.context_keys, (Words{"a", "c"}));
}

TEST(BenchOptions, RefusesBadValuesInTheEnvironmentToo) {
  setenv("BENCHMARK_REPETITIONS", "-1", 1);
  expect_bad_input([] { parse({}); }, {"BENCHMARK_REPETITIONS: is '-1'; a whole number from 1"});
  unsetenv("BENCHMARK_REPETITIONS");
}

TEST(BenchOptions, RefusesAFileThatIsTwoThings) {
  for (const Words& words : std::vector<Words>{{"--benchmark_out=x", "--journal=x"},
                                               {"--benchmark_out=x", "--journal=./y/../x"},
                                               {"--benchmark_out=x", "--write-profile=x"},
                                               {"--benchmark_out=x", "--config=x"},
                                               {"--benchmark_out=x", "--sweep=x.journal"},
                                               {"--profile=x", "--write-profile=x"}}) {
    expect_bad_input([&] { parse(words); }, {"'s file; a file of its own"});
  }
  EXPECT_NO_THROW(parse({"--benchmark_out=x", "--journal=y"}));
  EXPECT_NO_THROW(parse({"--config=x", "--profile=x"}));
}

TEST(BenchOptions, WhatGoesThroughADeviceHasNoJournalOfItsOwn) {
  EXPECT_EQ(parse({"--benchmark_out=x"}).journal, "x.journal");
  EXPECT_EQ(parse({"--benchmark_out=/dev/stdout"}).journal, "");
  EXPECT_THROW(parse({"--benchmark_out=/dev/null", "--resume"}), BadInput);
}

TEST(BenchOptions, RefusesAModelTwice) {
  EXPECT_THROW(parse({"--model=llama2-7b", "--config=x/config.json"}), BadInput);
  EXPECT_THROW(parse({"--seq=512", "--seq=1024"}), BadInput);
}

}  // namespace
}  // namespace vramfit::bench
