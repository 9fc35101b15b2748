#pragma once

#include "model/transformer/weights.h"

namespace vramfit {

/// A transformer on a device.
struct Model {
  Model(Runtime& runtime_, const ModelConfig& config_)
      : runtime(runtime_), config(config_), weights(runtime_, config_) {
    if (config.rope) frequencies = rope_frequencies(*config.rope, config.head_dim);
  }

  Runtime& runtime;
  const ModelConfig config;
  Weights weights;
  RopeFrequencies frequencies;
};

}  // namespace vramfit
