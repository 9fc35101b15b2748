#pragma once

#include "model/transformer/weights.h"

namespace vramfit {

/// A transformer on a device, with adapters where `lora` asks for them, cut as the mesh has it.
struct Model {
  Model(OpContext& context_, const ModelConfig& config_,
        const ParameterSource& source = draw_parameter, const std::optional<LoraOptions>& lora = {},
        const Mesh& mesh = {})
      : context(context_),
        config(config_),
        adapters(config_, lora),
        weights(context_, config_, source, adapters, mesh) {
    if (config.rope) frequencies = rope_frequencies(*config.rope, config.head_dim);
  }

  OpContext& context;
  const ModelConfig config;
  const Adapters adapters;
  Weights weights;
  RopeFrequencies frequencies;
};

}  // namespace vramfit
