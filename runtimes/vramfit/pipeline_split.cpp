#include "runtimes/vramfit/pipeline_split.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtimes/vramfit/dry_run.h"

namespace vramfit {
namespace {

/// What a rank takes. Bytes.
struct Taken {
  std::uint64_t reserved;
  std::uint64_t allocated;  ///< by tensors, which are more with each block
};

/// What ranks take with so many blocks, wherever the others are; each is run once.
class Tried {
 public:
  Tried(Arch arch, const ModelConfig& config, TrainingOptions options)
      : arch_(arch), config_(config), options_(std::move(options)) {}

  const Taken& operator()(std::size_t rank, std::int64_t blocks) {
    const auto [at, fresh] = known_.try_emplace({rank, blocks});
    if (fresh) at->second = run(rank, blocks);
    return at->second;
  }

 private:
  Taken run(std::size_t rank, std::int64_t blocks) const {
    TrainingOptions options = options_;
    Mesh& mesh = options.mesh;
    mesh.rank = static_cast<std::int64_t>(rank);
    mesh.stage_blocks.assign(static_cast<std::size_t>(mesh.ranks), 0);
    mesh.stage_blocks[rank] = blocks;
    mesh.stage_blocks[rank == 0 ? 1 : 0] += config_.layers - blocks;
    // Those behind that many find all as the ones before them did.
    options.accumulate = std::min(options.accumulate, mesh.ranks - mesh.rank + 1);
    const RunReport report = dry_run({arch_}, config_, options, kDefaultSteps, false);
    return {report.reserved, report.peak.allocated};
  }

  Arch arch_;
  const ModelConfig& config_;
  TrainingOptions options_;
  std::map<std::pair<std::size_t, std::int64_t>, Taken> known_;
};

using Blocks = std::vector<std::int64_t>;

std::uint64_t most_reserved(Tried& tried, const Blocks& blocks) {
  std::uint64_t most = 0;
  for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
    most = std::max(most, tried(rank, blocks[rank]).reserved);
  }
  return most;
}

/// Who would take least with one more block is to have the next.
Blocks one_by_one(Tried& tried, std::size_t ranks, std::int64_t layers) {
  Blocks blocks(ranks, 1);
  for (auto left = layers - static_cast<std::int64_t>(ranks); left > 0; --left) {
    std::size_t least = 0;
    for (std::size_t rank = 1; rank < ranks; ++rank) {
      const auto with_one_more = [&](std::size_t of) { return tried(of, blocks[of] + 1).reserved; };
      if (with_one_more(rank) < with_one_more(least)) least = rank;
    }
    ++blocks[least];
  }
  return blocks;
}

/// The best of all splits, from one that would be if more blocks always reserved more: gaps may
/// make a rank that has more reserve less. Above where tensors alone take what the fullest rank of
/// that split does, no rank need be looked at, and what others can take on is all that one need
/// give.
Blocks best_near(Tried& tried, const Blocks& start, std::int64_t layers) {
  const std::uint64_t most = most_reserved(tried, start);
  Blocks highest = start;
  std::int64_t room = 0;
  const std::int64_t rest = layers - static_cast<std::int64_t>(start.size()) + 1;
  for (std::size_t rank = 0; rank < start.size(); ++rank) {
    while (highest[rank] < rest && tried(rank, highest[rank] + 1).allocated < most) {
      ++highest[rank];
    }
    room += highest[rank] - start[rank];
  }
  if (room == 0) return start;
  struct Best {
    std::uint64_t most;
    Blocks blocks;
  };
  std::map<std::int64_t, Best> by_sum = {{0, {0, {}}}};  // of the ranks so far, by their blocks
  for (std::size_t rank = 0; rank < start.size(); ++rank) {
    std::map<std::int64_t, Best> next;
    const std::int64_t lowest = std::max<std::int64_t>(start[rank] - room, 1);
    // From the most down: of equals an earlier rank has more.
    for (std::int64_t blocks = highest[rank]; blocks >= lowest; --blocks) {
      for (const auto& [sum, best] : by_sum) {
        if (sum + blocks > layers) continue;
        const std::uint64_t taken = std::max(best.most, tried(rank, blocks).reserved);
        const auto [at, fresh] = next.try_emplace(sum + blocks);
        if (!fresh && taken >= at->second.most) continue;
        at->second = {taken, best.blocks};
        at->second.blocks.push_back(blocks);
      }
    }
    by_sum = std::move(next);
  }
  const Best& best = by_sum.at(layers);
  return best.most < most ? best.blocks : start;
}

}  // namespace

PipelineSplit split_by_memory(Arch arch, const ModelConfig& config,
                              const TrainingOptions& options) {
  const auto ranks = static_cast<std::size_t>(options.mesh.ranks);
  Tried tried(arch, config, options);
  PipelineSplit split{best_near(tried, one_by_one(tried, ranks, config.layers), config.layers), 0};
  for (std::size_t rank = 1; rank < ranks; ++rank) {
    const auto reserved = [&](std::size_t of) { return tried(of, split.blocks[of]).reserved; };
    if (reserved(rank) > reserved(static_cast<std::size_t>(split.fullest))) {
      split.fullest = static_cast<std::int64_t>(rank);
    }
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
