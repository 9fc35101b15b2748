#pragma once

#include <cstdint>

#include "runtimes/llamacpp/ggml/backend.h"

namespace vramfit::llamacpp::ggml {

class PoolStack;

/// What flash attention has on the stack of temporary buffers: launch_fattn of fattn-common.cuh.
void attention_pool(const Backend& backend, const Tensor& op, PoolStack& stack);

}  // namespace vramfit::llamacpp::ggml
