#pragma once

#include "model/config/json_reader.h"
#include "model/config/model_config.h"

namespace vramfit {

/// What gemma's config and its successors' have alike: all of the shape but rotation and windows.
ModelConfig read_gemma_shape(const JsonReader& json);

/// The norms and windows of gemma2 and gemma3. `full_every`: of so many layers the last one
/// does not slide, unless `layer_types` says otherwise.
void read_gemma2_layers(const JsonReader& json, ModelConfig& config, std::int64_t full_every);

}  // namespace vramfit
