#include "bench/counters/counter.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "bench/rows/counters.h"

namespace vramfit::bench {
namespace {

/// What stands in backticks in the first column of the page's first table.
std::set<std::string> documented() {
  std::ifstream page(VRAMFIT_DOCS "/counters.md");
  std::set<std::string> names;
  for (std::string line; std::getline(page, line) && !line.starts_with("## ");) {
    if (!line.starts_with("| `")) continue;
    const std::string cell = line.substr(0, line.find(" | "));
    for (std::size_t at = cell.find('`'); at != std::string::npos;) {
      const std::size_t end = cell.find('`', at + 1);
      for (const std::string& name : names_of(cell.substr(at + 1, end - at - 1))) {
        names.insert(name);
      }
      at = cell.find('`', end + 1);
    }
  }
  return names;
}

TEST(Counter, EachIsInTheTableAndOnThePage) {
  const std::set<std::string> there = documented();
  EXPECT_GT(there.size(), 100U);
  for (const std::string& name : there) EXPECT_TRUE(is_counter(name)) << name;
  for (const std::string& pattern : counter_patterns()) {
    for (const std::string& name : names_of(pattern)) EXPECT_TRUE(there.contains(name)) << name;
  }
}

TEST(Counter, StandsForAsManyNamesAsItsPattern) {
  EXPECT_EQ(names_of("oom"), std::vector<std::string>{"oom"});
  EXPECT_EQ(names_of("{a,b}_{c,d}").size(), 4U);
  EXPECT_EQ(names_of("mem_step{1,2}_<stage>_after").size(), 18U);
}

TEST(Counter, OfARowIsInTheTable) {
  Counters counters;
  counters.set("head/of_bound", 0.5);
  EXPECT_THROW(counters.set("mem_elsewhere", 0.5), std::logic_error);
}

// Of another version.
TEST(Counter, ThatIsUnknownIsBytesWhereItBeginsSo) {
  EXPECT_EQ(counter_called("mem_elsewhere").kind, Kind::Ledger);
  EXPECT_EQ(counter_called("elsewhere").kind, Kind::Stated);
  EXPECT_TRUE(counter_called("pytorch_elsewhere").predicted);
}

}  // namespace
}  // namespace vramfit::bench
