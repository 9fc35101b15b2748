#pragma once

#include "model/transformer/training.h"

namespace vramfit {

/// How a pipeline's blocks are split over its ranks by memory: so that the rank that takes most
/// takes as little as can be. The first ranks keep more micro-batches for backward, the last one
/// has the head; an earlier rank has more blocks where two would do.
struct PipelineSplit {
  std::vector<std::int64_t> blocks;  ///< of each rank, at least one
  std::int64_t fullest;              ///< the rank that takes most
};

/// Of options whose mesh is a pipeline and that are valid. Every count of blocks is tried on paper,
/// for a GPU of this architecture.
PipelineSplit split_by_memory(Arch arch, const ModelConfig& config, const TrainingOptions& options);

/// The same options with the blocks split, where their mesh is a pipeline.
TrainingOptions with_split(Arch arch, const ModelConfig& config, TrainingOptions options);

}  // namespace vramfit
