#include "bench/report/console_table.h"

#include <gtest/gtest.h>

namespace vramfit::bench {
namespace {

using Row = ::benchmark::BenchmarkReporter::Run;

Row measured() {
  Row run;
  run.run_name.function_name = "Training/model:tiny";
  run.counters["mem_allocated"] = 2e9;
  run.counters["mem_device_used"] = 3e9;
  run.counters["pred_device_used"] = 3.0005e9;
  run.counters["tokens_per_second"] = 1234;
  return run;
}

TEST(ConsoleTable, ALineHasLevelsDifferenceAndRate) {
  const std::string line = console_line(measured());
  EXPECT_LE(line.size(), 120U);
  for (const char* part :
       {"Training/model:tiny ", " 2.000 GB ", " 3.000 GB ", " +0.5 MB ", " 1234"})
    EXPECT_NE(line.find(part), std::string::npos) << line;
}

TEST(ConsoleTable, TheCoefficientOfVariationIsNoSize) {
  Row run = measured();
  run.run_type = Row::RT_Aggregate;
  run.aggregate_name = "cv";
  for (auto& [name, counter] : run.counters) counter = 0.0125;
  const std::string line = console_line(run);
  EXPECT_NE(line.find("Training/model:tiny_cv "), std::string::npos) << line;
  EXPECT_NE(line.find(" 1.25 % "), std::string::npos) << line;
  EXPECT_EQ(line.find("GB"), std::string::npos) << line;
}

}  // namespace
}  // namespace vramfit::bench
