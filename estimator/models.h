#pragma once

#include <string>
#include <vector>

#include "model/config/model_config.h"

namespace vramfit {

/// The models in data/models, in alphabetical order.
std::vector<std::string> model_names();

/// Throws BadInput where `name` is none of them.
ModelConfig model_named(const std::string& name);

}  // namespace vramfit
