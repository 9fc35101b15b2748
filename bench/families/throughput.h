#pragma once

#include <cstdint>

#include "bench/rows/case.h"
#include "bench/rows/counters.h"

namespace vramfit::bench {

/// Model FLOPs that training on one token of a sequence of `seq` takes: 6 (N − input embedding,
/// unless tied) + 6·L·(heads·head_dim)·S, the causal half of attention. Recomputation does not
/// count. `frozen`: weights beside adapters, whose gradients are not taken: 4 (…); adapters' own do
/// not count.
double training_flops_per_token(const ModelConfig& config, std::int64_t seq, bool frozen = false);

// Both run the row once more, for time alone: a few steps to warm up, in which GEMMs are tuned,
// then the median of those that fit the time there is. They count nothing where the row has no real
// device, no time is to be spent, or memory does not suffice.

/// tokens_per_second and flops_per_second, of training steps.
void count_speed(Counters& counters, const Case& row, const TrainingOptions& options);

/// prefill_tokens_per_second with its flops_per_second, a third of training's a token, and
/// decode_tokens_per_second, of all sequences, at the prompt's length.
void count_speed(Counters& counters, const Case& row, const GenerationOptions& options);

}  // namespace vramfit::bench
