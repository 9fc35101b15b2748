#pragma once

#include <string>
#include <vector>

#include "runtimes/pytorch/transformers/taped/config_keys.h"

namespace vramfit::pytorch {

/// Of each layer of a config, which of its tape's kinds it is.
std::vector<std::string> layer_kinds(const OpTape& tape, const ConfigKeys& keys,
                                     std::int64_t layers);

}  // namespace vramfit::pytorch
