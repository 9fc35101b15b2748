#pragma once

#include <string_view>

#include "runtimes/vllm/config.h"
#include "runtimes/vllm/shape.h"

namespace vramfit::vllm {

/// What sees of a model of that class, tensor by tensor; nothing: it is not known here.
std::vector<Tile> tower_of(const Config& config, std::string_view architecture);

/// What of it is shown to it, of images as large as published preprocessors let through.
Shown shown_to(const Config& config, std::string_view architecture);

}  // namespace vramfit::vllm
