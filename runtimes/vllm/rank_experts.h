#pragma once

#include <cstdint>

#include "runtimes/vllm/options.h"
#include "runtimes/vllm/shape.h"

namespace vramfit::vllm {

/// What a rank has of a layer's mixture (FusedMoEParallelConfig.make): ranks of an engine and those
/// of its replicas share experts out, each one's width, or with --enable-expert-parallel whole
/// ones.
struct RankExperts {
  std::int64_t count = 0;
  std::int64_t width = 0;
  std::int64_t shared = 0;  ///< of those that every token passes
  std::int64_t steps = 1;   ///< whose tokens it is handed: its own, and its replicas'
};

RankExperts experts_of_rank(const Shape& shape, const Options& options);

/// Whether tokens themselves are shared out, as where three kinds of ranks meet
/// (use_sequence_parallel_moe): each rank has all of what every token passes.
bool shares_tokens_out(const Options& options);

/// GPUs that a mixture is shared out to.
std::int64_t ranks_of_experts(const Options& options);

}  // namespace vramfit::vllm
