#pragma once

#include <string_view>

#include "runtimes/vllm/config.h"

namespace vramfit::vllm {

/// With keys as most classes have them, where `architecture` has others for them. What lists a
/// value a layer has that one; refused where layers differ.
Config spelled(const Config& config, std::string_view architecture);

}  // namespace vramfit::vllm
