#include "runtimes/pytorch/transformers/modules/outliers.h"

#include <cmath>

#include "model/ops/outliers.h"

namespace vramfit::pytorch {

bool outliers_grow_with_depth(const ModelConfig& config) {
  return config.block_norms == BlockNorms::After;
}

double outlier_chance(const ModelConfig& config, LinearInput input, std::int64_t layer) {
  // What norms are added to, embeddings of 0.02, hardly counts.
  const bool hidden = input == LinearInput::Hidden;
  const double added = static_cast<double>(2 * layer + (hidden ? 1 : 0));
  const double stream = outliers_grow_with_depth(config) ? std::sqrt(added + 0.02 * 0.02) : 1.0;
  switch (input) {
    case LinearInput::Stream:
      return vramfit::outlier_chance(stream);
    case LinearInput::Attended:
      return 0;
    case LinearInput::Hidden:
      break;
  }
  const bool gated = config.activation != ActivationKind::Gelu;
  return hidden_outlier_chance(config.hidden_act, gated, config.hidden, stream);
}

}  // namespace vramfit::pytorch
