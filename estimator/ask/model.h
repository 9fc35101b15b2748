#pragma once

#include "estimator/ask/environment.h"
#include "estimator/ask/options.h"
#include "model/config/model_config.h"
#include "runtimes/runtime.h"

namespace vramfit {

/// The model that is asked about, with the one that drafts for it; where no reader has a shape of
/// it, or of a part alone, what the runtime makes of it. Throws BadInput where there is none, or
/// none of that name.
ModelConfig model_of(const FitOptions& options, const Environment& environment,
                     const Runtime& runtime);

}  // namespace vramfit
