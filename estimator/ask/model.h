#pragma once

#include "estimator/ask/environment.h"
#include "estimator/ask/options.h"
#include "model/config/model_config.h"

namespace vramfit {

/// The model that is asked about; throws BadInput where there is none, or none of that name.
ModelConfig model_of(const FitOptions& options, const Environment& environment);

}  // namespace vramfit
