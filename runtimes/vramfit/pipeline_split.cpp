#include "runtimes/vramfit/pipeline_split.h"

#include <algorithm>

#include "runtimes/vramfit/dry_run.h"

namespace vramfit {
namespace {

/// What a rank reserves with so many blocks, wherever the others are. Bytes.
std::uint64_t reserved_with(Arch arch, const ModelConfig& config, TrainingOptions options,
                            std::int64_t rank, std::int64_t blocks) {
  Mesh& mesh = options.mesh;
  mesh.rank = rank;
  mesh.stage_blocks.assign(static_cast<std::size_t>(mesh.ranks), 0);
  mesh.stage_blocks[static_cast<std::size_t>(rank)] = blocks;
  mesh.stage_blocks[rank == 0 ? 1 : 0] += config.layers - blocks;
  // Those behind that many find all as the ones before them did.
  options.accumulate = std::min(options.accumulate, mesh.ranks - rank + 1);
  return dry_run({arch}, config, options, kDefaultSteps, false).reserved;
}

}  // namespace

PipelineSplit split_by_memory(Arch arch, const ModelConfig& config,
                              const TrainingOptions& options) {
  const auto ranks = static_cast<std::size_t>(options.mesh.ranks);
  PipelineSplit split{std::vector<std::int64_t>(ranks, 1), 0};
  std::vector<std::uint64_t> with_one_more(ranks);
  const auto try_one_more = [&](std::size_t rank) {
    with_one_more[rank] = reserved_with(arch, config, options, static_cast<std::int64_t>(rank),
                                        split.blocks[rank] + 1);
  };
  for (std::size_t rank = 0; rank < ranks; ++rank) try_one_more(rank);
  // More blocks take more: who would take least with one more is to have the next.
  for (auto left = config.layers - options.mesh.ranks; left > 0; --left) {
    const auto least =
        std::min_element(with_one_more.begin(), with_one_more.end()) - with_one_more.begin();
    ++split.blocks[static_cast<std::size_t>(least)];
    if (left > 1) try_one_more(static_cast<std::size_t>(least));
  }
  std::uint64_t most = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto number = static_cast<std::int64_t>(rank);
    const std::uint64_t reserved = reserved_with(arch, config, options, number, split.blocks[rank]);
    if (reserved > most) split.fullest = number;
    most = std::max(most, reserved);
  }
  return split;
}

TrainingOptions with_split(Arch arch, const ModelConfig& config, TrainingOptions options) {
  if (options.mesh.pipelined()) {
    options.mesh.stage_blocks = split_by_memory(arch, config, options).blocks;
  }
  return options;
}

}  // namespace vramfit
