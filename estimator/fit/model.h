#pragma once

#include "estimator/fit/options.h"
#include "model/config/model_config.h"

namespace vramfit::fit {

/// The model that is asked about: shipped, of a file, a folder or the local Hugging Face cache, or
/// assumed of a size. Throws BadInput that names what the user gave.
ModelConfig model_of(const Options& options);

}  // namespace vramfit::fit
