#include "standin/stream/graph_memory.h"

#include <algorithm>

namespace vramfit::standin {
namespace {

constexpr std::uint64_t kRegion = 2 << 20;

// Each from regions of its own. What a process has of them before its first graph is a part of one.
constexpr std::uint64_t kGraph = 64 << 10;
constexpr std::uint64_t kGraphToo = 48 << 10;
constexpr std::uint64_t kLaunches = 128;
constexpr std::uint64_t kNode = 512;  ///< and one more a graph

/// The sizes that launches have, with the most bytes of arguments that go into each.
std::uint64_t launch(std::uint64_t arguments) {
  return arguments <= 1264 ? 1792 : arguments <= 2288 ? 2816 : 8064;
}

}  // namespace

void GraphSize::add_kernel(std::uint64_t arguments) {
  ++kernels;
  launches += launch(arguments);
}

std::uint64_t GraphMemory::regions() const {
  return graphs_ * kGraph / kRegion + graphs_ * kGraphToo / kRegion +
         (graphs_ * kLaunches + all_.launches) / kRegion +
         (graphs_ + all_.kernels) * kNode / kRegion;
}

std::uint64_t GraphMemory::add(const GraphSize& graph) {
  ++graphs_;
  all_.kernels += graph.kernels;
  all_.launches += graph.launches;
  const std::uint64_t before = most_;
  most_ = std::max(most_, regions());
  return (most_ - before) * kRegion;
}

void GraphMemory::remove(const GraphSize& graph) {
  --graphs_;
  all_.kernels -= graph.kernels;
  all_.launches -= graph.launches;
}

}  // namespace vramfit::standin
