#include "model/parallel/pipeline.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <stdexcept>

namespace vramfit {

PipelineStage stage_of(const Mesh& mesh, std::int64_t layers) {
  if (!mesh.pipelined()) return {0, static_cast<int>(layers), true, true};
  const std::vector<std::int64_t>& blocks = mesh.stage_blocks;
  const auto own = blocks.begin() + static_cast<std::ptrdiff_t>(mesh.rank);
  if (static_cast<std::int64_t>(blocks.size()) != mesh.ranks ||
      std::accumulate(blocks.begin(), blocks.end(), std::int64_t{0}) != layers) {
    throw std::logic_error("a pipeline whose blocks are not split");
  }
  const std::int64_t first = std::accumulate(blocks.begin(), own, std::int64_t{0});
  return {static_cast<int>(first), static_cast<int>(first + *own), mesh.rank == 0,
          mesh.rank + 1 == mesh.ranks};
}

std::vector<std::int64_t> correspondents(const Mesh& mesh) {
  if (!mesh.pipelined()) return {};
  const std::int64_t last = mesh.ranks - 1;
  std::set<std::int64_t> others;
  if (mesh.rank > 0) others.insert(mesh.rank - 1);
  if (mesh.rank < last) others.insert(mesh.rank + 1);
  if (mesh.rank == 0) others.insert(last);
  if (mesh.rank == last) others.insert(0);
  return {others.begin(), others.end()};
}

std::int64_t most_in_flight(const Mesh& mesh, std::int64_t micro_batches) {
  return mesh.pipelined() ? std::min(mesh.ranks - mesh.rank, micro_batches) : 1;
}

std::vector<Pass> passes_of(const Mesh& mesh, std::int64_t micro_batches) {
  const std::int64_t ahead = most_in_flight(mesh, micro_batches) - 1;
  std::vector<Pass> passes;
  passes.reserve(static_cast<std::size_t>(2 * micro_batches));
  for (std::int64_t forward = 0; forward < micro_batches; ++forward) {
    passes.push_back({false, forward});
    if (forward >= ahead) passes.push_back({true, forward - ahead});
  }
  for (std::int64_t back = micro_batches - ahead; back < micro_batches; ++back) {
    passes.push_back({true, back});
  }
  return passes;
}

}  // namespace vramfit
