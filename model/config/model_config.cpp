#include "model/config/model_config.h"

#include "model/errors.h"

namespace vramfit {

bool alike(const ModelConfig& config, std::int64_t layer, std::int64_t other) {
  const auto kind = [&](std::int64_t i) {
    return config.taped ? config.taped->layer_kinds.at(static_cast<std::size_t>(i)) : "";
  };
  return config.slides(layer) == config.slides(other) && kind(layer) == kind(other);
}

ModelConfig without_layers(ModelConfig config, std::int64_t first, std::int64_t count) {
  config.layers -= count;
  if (config.taped) {
    auto& kinds = config.taped->layer_kinds;
    const auto begin = kinds.begin() + static_cast<std::ptrdiff_t>(first);
    kinds.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
  }
  if (!config.sliding_layers.empty()) {
    // vector<bool>'s distance is 32 bits where the estimator is WebAssembly.
    using Distance = std::vector<bool>::difference_type;
    const auto begin = config.sliding_layers.begin() + static_cast<Distance>(first);
    config.sliding_layers.erase(begin, begin + static_cast<Distance>(count));
  }
  return config;
}

const char* positions_key(const ModelConfig& config) {
  return config.learned_positions() ? "n_positions" : "max_position_embeddings";
}

void require_positions(const ModelConfig& config, std::int64_t seq) {
  if (config.learned_positions() && seq > config.max_positions) {
    throw BadInput("seq: " + std::to_string(seq) + " is more than the " +
                   std::to_string(config.max_positions) + " learned positions of " + config.name +
                   "; at most " + std::to_string(config.max_positions));
  }
  if (config.sliding_window && seq > *config.sliding_window) {
    throw BadInput("seq: " + config.name + " attends within a sliding window of " +
                   std::to_string(*config.sliding_window) +
                   " tokens, which runs are not told to slide; at most that");
  }
}

}  // namespace vramfit
