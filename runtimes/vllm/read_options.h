#pragma once

#include "runtimes/flags.h"
#include "runtimes/vllm/options.h"

namespace vramfit::vllm {

/// Throws BadInput on a value that vLLM does not take.
Options read_options(const Flags& flags);

}  // namespace vramfit::vllm
