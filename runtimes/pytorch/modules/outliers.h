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

/// How likely an element of it is an outlier to LLM.int8(), 6 or more. That is up to the weights,
/// which nobody reads: assumed are those that transformers initialises a model with, normal with
/// a deviation of 0.02, which make of a stream of unit variance gate and up normal as well.
double outlier_chance(const ModelConfig& config, LinearInput input, std::int64_t layer);

/// Columns of `rows` by `columns` elements that hold at least one. No two linears have as many,
/// and what one left free need not do for the next: `quantile`, in (0, 1), says whereabouts in the
/// binomial distribution this one is.
std::int64_t outlier_columns(double chance, std::int64_t rows, std::int64_t columns,
                             double quantile);

}  // namespace vramfit::pytorch
