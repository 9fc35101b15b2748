#pragma once

#include "model/transformer/weights.h"

namespace vramfit {

/// A transformer on a device.
struct Model {
  Model(OpContext& context_, const ModelConfig& config_,
        const ParameterSource& source = draw_parameter)
      : context(context_), config(config_), weights(context_, config_, source) {
    if (config.rope) frequencies = rope_frequencies(*config.rope, config.head_dim);
  }

  OpContext& context;
  const ModelConfig config;
  Weights weights;
  RopeFrequencies frequencies;
};

}  // namespace vramfit
