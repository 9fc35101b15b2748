#pragma once

#include "runtimes/vllm/architectures.h"
#include "runtimes/vllm/config.h"

namespace vramfit::vllm {

/// Its layers one by one, with what they have of experts, latents and states, as the config says.
void add_layers(Shape& shape, const Config& config, const Architecture& architecture);

}  // namespace vramfit::vllm
