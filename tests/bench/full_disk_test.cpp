#include "bench/report/console_table.h"
#include "tests/bench/cpu_sweep.h"

// Disks that take no more: a limit on the size of files stands in for one.

namespace vramfit::bench {
namespace {

using FullDisk = CpuSweep;

TEST_F(FullDisk, LeavesTheOlderReportAndTheJournal) {
  std::ofstream(out_) << "an older report";
  const Ended ended = run_bench(arguments(3, 0, ">/dev/null"), "prlimit --fsize=9000");
  EXPECT_EQ(ended.exit, 3);
  EXPECT_EQ(
      count_of(ended.err, "bench: error: cannot write '" + out_.string() + "': File too large"), 1)
      << ended.err;
  EXPECT_EQ(text_of(out_), "an older report");
  EXPECT_FALSE(std::filesystem::exists(out_.string() + ".partial"));
  ASSERT_GE(journal().size(), 2U);

  mark_journal();
  const auto done = static_cast<int>(journal().size());
  const Ended resumed = run_bench(arguments(3, 0, "--resume"));
  EXPECT_EQ(resumed.exit, 0) << resumed.err;
  for (int batch = 1; batch <= 3; ++batch) EXPECT_EQ(is_from_journal(batch), batch <= done);
}

TEST_F(FullDisk, AJournalThatTakesNoMoreKeepsItsRowsAndIsSaid) {
  const Ended ended =
      run_bench(arguments(3, 0, "--benchmark_out_format=console"), "prlimit --fsize=4500");
  EXPECT_EQ(ended.exit, 3);
  EXPECT_EQ(count_of(ended.err, "journal: cannot write '" + journal_.string()), 1) << ended.err;
  ASSERT_GE(journal().size(), 1U);
  ASSERT_LT(journal().size(), 3U);
  for (const std::string& line : journal()) EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  EXPECT_NE(text_of(out_).find(console_name(name_of(3)).second), std::string::npos) << "rows go on";
}

TEST_F(FullDisk, DevicesThatTakeNothing) {
  const std::string kv = "--device=virtual:h200 --benchmark_filter=KvCache/mistral ";
  for (const std::string& full :
       {kv + "--benchmark_out=/dev/full", kv + "--benchmark_format=json >/dev/full",
        kv + "--benchmark_list_tests >/dev/full", std::string("--help >/dev/full"),
        std::string("--version >/dev/full")}) {
    const Ended ended = run_bench(full);
    EXPECT_EQ(ended.exit, 3) << full;
    EXPECT_EQ(count_of(ended.err, "bench: error: cannot write "), 1) << full << ended.err;
  }
  const Ended named = run_bench(kv + "--benchmark_out=/dev/full");
  EXPECT_EQ(count_of(named.err, "cannot write '/dev/full': No space left on device"), 1);
}

TEST_F(FullDisk, AReportMayGoWhereTheScreenGoes) {
  const Ended ended = run_bench(
      "--device=virtual:h200 --benchmark_filter=KvCache/mistral --benchmark_out=/dev/stdout");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  const std::size_t json = ended.out.find("{\n  \"context\"");
  ASSERT_NE(json, std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(ended.out.substr(json)).at("benchmarks").size(), 4U);
}

}  // namespace
}  // namespace vramfit::bench
