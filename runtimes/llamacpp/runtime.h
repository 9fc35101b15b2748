#pragma once

#include "runtimes/runtime.h"

namespace vramfit::llamacpp {

/// llama.cpp's server with CUDA.
const Runtime& llamacpp_runtime();

}  // namespace vramfit::llamacpp
