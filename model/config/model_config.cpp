#include "model/config/model_config.h"

#include "model/errors.h"

namespace vramfit {

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
