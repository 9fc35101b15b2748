#include "model/config/model_config.h"

#include "model/errors.h"

namespace vramfit {

bool runs_on_vramfit(const ModelConfig& config) {
  for (const char* family : {"llama", "mistral", "qwen2", "gpt2"}) {
    if (config.family == family) return true;
  }
  return false;
}

void require_own_family(const ModelConfig& config) {
  if (runs_on_vramfit(config)) return;
  throw BadInput(
      "model: " + config.name + " is of the family " + config.family +
      ", which vramfit's own step program does not run; a llama, mistral, qwen2 or gpt2 " +
      "model, or PyTorch's runtime: fit --runtime pytorch");
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
