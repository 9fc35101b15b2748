#include "bench/rows/ranks.h"

#include <gtest/gtest.h>

namespace vramfit::bench {
namespace {

Result rank(double used, double sent, double speed, double bubble, double equal) {
  Result result;
  result.counters.set("mem_device_used", used);
  result.counters.set("mem_allocated", used - 1);
  result.counters.set("mem_sent", sent);
  result.counters.set("exposed_seconds", sent / 100);
  result.counters.set("tokens_per_second", speed);
  result.counters.set("bubble", bubble);
  result.counters.set("ledger_equal", equal);
  result.counters.set("oom", 1 - equal);
  result.seconds = used;
  return result;
}

TEST(OfRanks, MemoryIsTheFullestRanksAndTheRestTheWorstOfAny) {
  const Result all =
      of_ranks({rank(10, 7, 100, 0.2, 1), rank(30, 5, 90, 0.1, 0), rank(20, 6, 95, 0.3, 1)});
  const auto& of = all.counters.values();
  EXPECT_EQ(of.at("mem_device_used"), 30);
  EXPECT_EQ(of.at("mem_allocated"), 29);
  EXPECT_EQ(of.at("mem_sent"), 7);
  EXPECT_EQ(of.at("exposed_seconds"), 0.07);
  EXPECT_EQ(of.at("tokens_per_second"), 90);
  EXPECT_EQ(of.at("bubble"), 0.1) << "of the GPU that is busiest";
  EXPECT_EQ(of.at("ledger_equal"), 0);
  EXPECT_EQ(of.at("oom"), 1);
  EXPECT_EQ(all.seconds, 30);
}

}  // namespace
}  // namespace vramfit::bench
