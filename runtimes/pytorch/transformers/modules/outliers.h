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

/// Whether layers further behind have more of them: where norms stand behind attention and MLP,
/// each adds unit variance to what enters the next.
bool outliers_grow_with_depth(const ModelConfig& config);

/// How likely an element of it is an outlier to LLM.int8(): model/ops/outliers.h.
double outlier_chance(const ModelConfig& config, LinearInput input, std::int64_t layer);

}  // namespace vramfit::pytorch
