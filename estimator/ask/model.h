#pragma once

#include "estimator/ask/options.h"
#include "estimator/ask/surroundings.h"
#include "model/config/model_config.h"

namespace vramfit {

/// The model that is asked about; throws BadInput where there is none, or none of that name.
ModelConfig model_of(const Options& options, const Surroundings& surroundings);

}  // namespace vramfit
