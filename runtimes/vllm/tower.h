#pragma once

#include <string_view>

#include "runtimes/vllm/config.h"
#include "runtimes/vllm/shape.h"

namespace vramfit::vllm {

/// What sees of a model of that class, tensor by tensor; nothing: it is not known here.
std::vector<Tile> tower_of(const Config& config, std::string_view architecture);

}  // namespace vramfit::vllm
