#pragma once

#include <string>

#include "runtimes/vllm/start.h"

namespace vramfit::vllm {

/// The line that starts it so.
std::string command_of(const Shape& shape, const Options& options, const Start& start);

}  // namespace vramfit::vllm
