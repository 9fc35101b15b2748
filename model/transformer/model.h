#pragma once

#include "model/parallel/pipeline.h"
#include "model/transformer/weights.h"

namespace vramfit {

/// A transformer on a device, or a stage of it, with adapters where `lora` asks for them, cut as
/// the mesh has it.
struct Model {
  Model(OpContext& context_, const ModelConfig& config_,
        const ParameterSource& source = draw_parameter, const std::optional<LoraOptions>& lora = {},
        const Mesh& mesh = {})
      : context(context_),
        config(config_),
        stage(stage_of(mesh, config_.layers)),
        adapters(config_, lora),
        weights(context_, config_, source, adapters, mesh) {
    if (config.rope) frequencies = rope_frequencies(*config.rope, config.head_dim);
  }

  OpContext& context;
  const ModelConfig config;
  const PipelineStage stage;
  const Adapters adapters;
  Weights weights;
  RopeFrequencies frequencies;
};

}  // namespace vramfit
