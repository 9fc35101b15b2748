#include <csignal>

#include "tests/bench/cpu_sweep.h"

// Runs that are killed, interrupted, or find another at their files.

namespace vramfit::bench {
namespace {

using Interrupted = CpuSweep;

constexpr int kRows = 10;

TEST_F(Interrupted, AKilledRunLosesNoRowThatWasDone) {
  std::ofstream(out_) << "an older report";
  RunningBench bench(arguments(kRows, 0.1));
  wait_for_rows(2);
  bench.send(SIGKILL);
  EXPECT_EQ(bench.wait().exit, 128 + SIGKILL);
  const auto done = static_cast<int>(journal().size());
  ASSERT_LT(done, kRows);
  EXPECT_EQ(text_of(out_), "an older report");
  mark_journal();
  const Ended resumed = run_bench(arguments(kRows, 0.1, "--resume"));
  ASSERT_EQ(resumed.exit, 0) << resumed.err;
  EXPECT_EQ(report().at("benchmarks").size(), static_cast<std::size_t>(kRows));
  for (int batch = 1; batch <= kRows; ++batch) EXPECT_EQ(is_from_journal(batch), batch <= done);
}

TEST_F(Interrupted, SigintLeavesAReportOfTheRowsThatWereDone) {
  for (const int signal : {SIGINT, SIGTERM}) {
    std::filesystem::remove(journal_);
    RunningBench bench(arguments(kRows, 0.1, "--benchmark_format=json"));
    wait_for_rows(2);
    bench.send(signal);
    const Ended ended = bench.wait();
    EXPECT_EQ(ended.exit, 128 + signal) << ended.err;
    EXPECT_EQ(count_of(ended.err, "bench: interrupted after "), 1) << ended.err;
    EXPECT_EQ(count_of(ended.err, "the same command with --resume goes on\n"), 1) << ended.err;
    const std::size_t rows = report().at("benchmarks").size();
    EXPECT_GE(rows, 1U);
    EXPECT_LE(rows, journal().size());
    EXPECT_EQ(nlohmann::json::parse(ended.out).at("benchmarks").size(), rows);
  }
  const Ended resumed = run_bench(arguments(kRows, 0.1, "--resume"));
  EXPECT_EQ(resumed.exit, 0) << resumed.err;
  EXPECT_EQ(report().at("benchmarks").size(), static_cast<std::size_t>(kRows));
}

TEST_F(Interrupted, WhatCouldNotBePrintedIsSaid) {
  RunningBench bench(arguments(kRows, 0.1, ">/dev/full"));
  wait_for_rows(2);
  bench.send(SIGINT);
  const Ended ended = bench.wait();
  EXPECT_EQ(ended.exit, 3);
  EXPECT_EQ(count_of(ended.err, "bench: error: cannot write standard output\n"), 1) << ended.err;
  EXPECT_GE(report().at("benchmarks").size(), 1U);
}

TEST_F(Interrupted, PredictionsToo) {
  RunningBench bench(
      "--device=virtual:h200 --benchmark_filter='KvCache/llama2-7b/fp16|Estimate' "
      "--benchmark_min_time=100 --benchmark_out='" +
      out_.string() + "'");
  wait_until([&] { return count_of(bench.out(), "  batch:") == 4; });
  bench.send(SIGINT);
  const Ended ended = bench.wait();
  EXPECT_EQ(ended.exit, 128 + SIGINT);
  EXPECT_EQ(count_of(ended.err, "--resume"), 0) << "predictions have no journal";
  EXPECT_EQ(report().at("benchmarks").size(), 4U);
}

TEST_F(Interrupted, BeforeAnyRowNothingIsReplaced) {
  std::ofstream(out_) << "an older report";
  RunningBench bench(
      "--device=virtual:h200 --benchmark_filter=Estimate "
      "--benchmark_min_time=100 --benchmark_out='" +
      out_.string() + "'");
  usleep(700'000);
  bench.send(SIGINT);
  EXPECT_EQ(bench.wait().exit, 128 + SIGINT);
  EXPECT_EQ(text_of(out_), "an older report");
  EXPECT_FALSE(std::filesystem::exists(out_.string() + ".partial"));
}

TEST_F(Interrupted, ASecondRunOnTheSameFilesIsRefused) {
  RunningBench first(arguments(kRows, 0.1));
  wait_for_rows(1);
  const Ended second = run_bench(arguments(kRows, 0.1, "--resume"));
  EXPECT_EQ(second.exit, 2);
  EXPECT_EQ(count_of(second.err, "bench: error: benchmark_out: cannot write '" + out_.string()), 1)
      << second.err;
  const Ended other_out = run_bench(arguments(kRows, 0.1,
                                              "--benchmark_out='" + (folder_ / "other").string() +
                                                  "' --journal='" + journal_.string() + "'"));
  EXPECT_EQ(other_out.exit, 2);
  EXPECT_EQ(count_of(other_out.err, "bench: error: journal: cannot write"), 1) << other_out.err;
  EXPECT_EQ(first.wait().exit, 0);
  EXPECT_EQ(report().at("benchmarks").size(), static_cast<std::size_t>(kRows));
}

}  // namespace
}  // namespace vramfit::bench
