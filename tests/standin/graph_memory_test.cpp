#include "standin/stream/graph_memory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

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

/// Regions that a process has in part before its first graph, and what is left of each where a
/// graph's launches find no room in it, are no part of the rule.
TEST(GraphMemory, IsWhatWasMeasured) {
  std::ifstream file(VRAMFIT_DATA_DIR "/reference/vllm/cuda_graphs.jsonl");
  int compared = 0;
  for (std::string line; std::getline(file, line);) {
    const auto row = nlohmann::json::parse(line);
    if (row.contains("env") || row.at("kind") == 1) continue;  // memsets, which are no launches
    const std::uint64_t measured = row.at("total");
    const std::uint64_t bytes = taken(row.at("count"), row.at("nodes"), row.at("params"));
    EXPECT_LE(bytes, measured) << line;
    EXPECT_GE(bytes + 4 * kRegion + measured / 8, measured) << line;
    ++compared;
  }
  EXPECT_GT(compared, 80);
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
