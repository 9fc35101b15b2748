#pragma once

#include "runtimes/setting.h"

namespace vramfit::vllm {

/// vLLM's arguments that memory depends on.
const Settings& settings();

}  // namespace vramfit::vllm
