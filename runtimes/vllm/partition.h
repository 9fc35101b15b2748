#pragma once

#include <string>

#include "runtimes/vllm/options.h"
#include "runtimes/vllm/shape.h"

namespace vramfit::vllm {

/// Throws BadInput where ranks cannot have as much each of something that vLLM divides: heads,
/// groups, channels, widths of MLPs. `whose`: what is said of them, ", which drafts" say.
void require_even_shares(const Shape& shape, const Options& options, const std::string& whose = "");

}  // namespace vramfit::vllm
