#pragma once

#include <cstdint>

#include "model/config/model_config.h"

namespace vramfit::pytorch {

/// What enters a linear of a block.
enum class LinearInput : std::uint8_t {
  Stream,    ///< the residual stream, mostly behind a norm
  Attended,  ///< what attention returns: a mean of values
  Hidden,    ///< the MLP's: activated, and gated where it is
};

/// How likely an element of it is an outlier to LLM.int8(): model/ops/outliers.h.
double outlier_chance(const ModelConfig& config, LinearInput input, std::int64_t layer);

}  // namespace vramfit::pytorch
