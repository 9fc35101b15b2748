#pragma once

#include "runtimes/vllm/config.h"
#include "runtimes/vllm/shape.h"

namespace vramfit::vllm {

/// How its checkpoint is stored, by the config's quantization_config.
void add_quantization(Shape& shape, const Config& config);

}  // namespace vramfit::vllm
