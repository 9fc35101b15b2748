#include "runtimes/pytorch/transformers/parallel/pipeline_part.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "model/errors.h"

namespace vramfit::pytorch {
namespace {

/// Those whose model does to hidden states that come as inputs_embeds nothing that it does to
/// embeddings alone, and whose parts are called embed_tokens, layers and norm.
constexpr std::string_view kCut[] = {"llama", "mistral", "qwen2", "qwen3", "olmo2", "phi3"};

}  // namespace

ModelConfig part_of_stage(const ModelConfig& config, std::int64_t stage, std::int64_t stages) {
  const std::int64_t each = config.layers / stages;
  const std::int64_t first = stage * each;
  const std::int64_t end = stage == stages - 1 ? config.layers : first + each;
  ModelConfig part = without_layers(config, end, config.layers - end);
  part = without_layers(std::move(part), 0, first);
  part.tied_head = config.tied_head && stages == 1;
  return part;
}

void require_parts(const ModelConfig& config, std::int64_t stages) {
  if (std::find(std::begin(kCut), std::end(kCut), config.family) == std::end(kCut)) {
    throw BadInput("strategy: a pipeline of " + config.family +
                   " is not predicted: its model takes no hidden states as they are; --strategy "
                   "fsdp, or vramfit run");
  }
  if (config.layers < stages) {
    throw BadInput("gpus: " + std::to_string(stages) + " stages of " +
                   std::to_string(config.layers) + " layers; at most " +
                   std::to_string(config.layers));
  }
}

}  // namespace vramfit::pytorch
