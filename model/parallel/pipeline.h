#pragma once

#include <cstdint>
#include <vector>

#include "model/parallel/mesh.h"

namespace vramfit {

/// What of a model one rank has: some of its blocks, the first rank the embeddings, the last one
/// the final norm and the head. All of it where there is no pipeline.
struct PipelineStage {
  int first;  ///< block
  int end;    ///< behind the last
  bool embeds;
  bool has_head;
};

/// Throws std::logic_error where the mesh does not say how the blocks are split.
PipelineStage stage_of(const Mesh& mesh, std::int64_t layers);

/// The ranks that this one exchanges messages with: before and behind it, and of the first and the
/// last each other, which share a tied head. None without a pipeline.
std::vector<std::int64_t> correspondents(const Mesh& mesh);

/// A stage's forward or backward pass of one micro-batch.
struct Pass {
  bool backward;
  std::int64_t micro_batch;
};

/// The passes of a rank in a step, one forward, one backward (1F1B: Narayanan et al. 2019, 2021):
/// a rank begins with as many forward passes as there are ranks behind it, then goes back once for
/// each time that it goes forward, and ends with the backward passes that are left. Without a
/// pipeline every micro-batch goes back as soon as it went forward.
std::vector<Pass> passes_of(const Mesh& mesh, std::int64_t micro_batches);

/// How many micro-batches lie between their forward and their backward pass at most.
std::int64_t most_in_flight(const Mesh& mesh, std::int64_t micro_batches);

}  // namespace vramfit
