#pragma once

#include "bench/devices/real_device.h"
#include "bench/quality/text.h"
#include "model/transformer/generation.h"

namespace vramfit::bench {

/// How surprised a model is by a text that it continues token by token.
struct Surprise {
  double loss;  ///< mean −log probability of a token, in nats: perplexity is its exp
  std::int64_t tokens;
};

/// Reads windows of a text as generation would: the prompt in one pass, then one token after the
/// other against the cache, each the text's own, whatever the model would have said. Scores each
/// token behind the prompt. `options`: seq is the prompt's, generate how many are scored; their sum
/// is a window's. `windows`: how many, in batches, spread over the text.
Surprise surprise(RealDevice& device, const ModelConfig& config, const GenerationOptions& options,
                  const ParameterSource& weights, const Text& text, std::int64_t windows);

}  // namespace vramfit::bench
