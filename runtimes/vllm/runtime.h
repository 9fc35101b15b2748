#pragma once

#include "runtimes/runtime.h"

namespace vramfit::vllm {

/// vLLM's engine, before it starts.
const Runtime& vllm_runtime();

}  // namespace vramfit::vllm
