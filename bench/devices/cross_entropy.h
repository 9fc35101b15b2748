#pragma once

#include <cstdint>
#include <span>

namespace vramfit::bench {

/// −log softmax(logits)[token], in nats.
double cross_entropy(std::span<const float> logits, std::int32_t token);

}  // namespace vramfit::bench
