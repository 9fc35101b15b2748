#include "bench/devices/cross_entropy.h"

#include <algorithm>
#include <cmath>

namespace vramfit::bench {

double cross_entropy(std::span<const float> logits, std::int32_t token) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += static_cast<double>(std::exp(logit - largest));
  return std::log(sum) + static_cast<double>(largest - logits[static_cast<std::size_t>(token)]);
}

}  // namespace vramfit::bench
