#pragma once

#include <cstdint>

#include "bench/counters.h"
#include "bench/real_device.h"

namespace vramfit::bench {

/// Model FLOPs that training on one token of a sequence of `seq` takes: 6 (N − input embedding,
/// unless tied) + 6·L·h·S, the causal half of attention. Recomputation does not count.
double training_flops_per_token(const ModelConfig& config, std::int64_t seq);

/// tokens_per_second and flops_per_second, from the last step that ran to its end.
void count_training_speed(Counters& counters, const ModelConfig& config,
                          const TrainingOptions& options, const Measurement& measured);

/// The same of prefill, a third of training's FLOPs; decode_tokens_per_second where tokens were
/// decoded.
void count_generation_speed(Counters& counters, const ModelConfig& config,
                            const GenerationOptions& options, const Measurement& measured);

}  // namespace vramfit::bench
