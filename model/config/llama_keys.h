#pragma once

#include <cstdint>
#include <functional>

#include "model/config/json_reader.h"
#include "model/config/model_config.h"
#include "model/config/rope_keys.h"

namespace vramfit {

// Keys of the families whose configs are made after llama's.

/// All of the shape but key-value heads, biases and windows. `head_dim`: of a family that has a
/// width of its own where the file names none.
ModelConfig read_llama_shape(const JsonReader& json,
                             std::optional<std::int64_t> head_dim = std::nullopt,
                             const RopeKeys& rope = {});

/// The window where layers slide, and which of them do: those that `layer_types` names, or, where
/// the file does not, those for which `slides` is true.
void read_windows(const JsonReader& json, ModelConfig& config, std::optional<std::int64_t> window,
                  const std::function<bool(std::int64_t layer)>& slides);

}  // namespace vramfit
