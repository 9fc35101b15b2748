#pragma once

#include "model/config/json_reader.h"
#include "model/config/model_config.h"

namespace vramfit {

/// How a family spells its rotation outside of rope_parameters.
struct RopeKeys {
  const char* theta = "rope_theta";
  const char* partial = "partial_rotary_factor";
  double default_partial = 1.0;
  bool may_be_partial = false;  ///< whether its attention rotates only as much as the key says
};

/// theta and scaling as an object of rope_parameters has them.
void read_rope_parameters(const JsonReader& parameters, Rope& rope);

/// Sets config.rope; its heads are read before.
void read_rope(const JsonReader& json, ModelConfig& config, const RopeKeys& keys = {});

}  // namespace vramfit
