#include "standin/stream/graph_memory.h"

#include <gtest/gtest.h>

namespace vramfit::standin {
namespace {

constexpr std::uint64_t kRegion = 2 << 20;

std::uint64_t taken(std::uint64_t graphs, std::uint64_t kernels, std::uint64_t arguments) {
  GraphMemory memory;
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < graphs; ++i) {
    GraphSize size;
    for (std::uint64_t k = 0; k < kernels; ++k) size.add_kernel(arguments);
    bytes += memory.add(size);
  }
  return bytes;
}

/// As measured: regions that a process has in part before its first graph, and what is left of
/// each where a graph's launches find no room in it, are no part of the rule.
TEST(GraphMemory, IsWhatWasMeasured) {
  struct Case {
    std::uint64_t arguments, kernels, graphs, measured;
  };
  for (const Case& c :
       {Case{16, 1, 150, 16777216}, Case{16, 8, 150, 18874368}, Case{16, 64, 150, 37748736},
        Case{16, 256, 150, 113246208}, Case{16, 1, 1000, 115343360}, Case{16, 1, 3000, 348127232},
        Case{256, 8, 600, 79691776}, Case{1088, 64, 400, 104857600}, Case{1280, 64, 400, 134217728},
        Case{2048, 16, 400, 65011712}, Case{2304, 16, 400, 100663296},
        Case{4008, 64, 400, 268435456}}) {
    const std::uint64_t bytes = taken(c.graphs, c.kernels, c.arguments);
    EXPECT_LE(bytes, c.measured) << c.graphs << " of " << c.kernels;
    EXPECT_GE(bytes + 4 * kRegion + c.measured / 8, c.measured) << c.graphs << " of " << c.kernels;
  }
}

TEST(GraphMemory, IsUsedAgainAndNeverGivenBack) {
  GraphMemory memory;
  GraphSize size;
  for (int i = 0; i < 64; ++i) size.add_kernel(0);
  for (int i = 0; i < 400; ++i) memory.add(size);
  for (int i = 0; i < 400; ++i) memory.remove(size);
  for (int i = 0; i < 400; ++i) EXPECT_EQ(memory.add(size), 0U);
}

}  // namespace
}  // namespace vramfit::standin
