#pragma once

#include <vector>

#include "runtimes/vllm/shape.h"

namespace vramfit::vllm {

/// What each of so many GPUs in a row has of the model (get_pp_indices): the first what embeds, the
/// last the head, and a tied one what embeds as well.
std::vector<Shape> stages_of(const Shape& shape, std::int64_t pipeline);

}  // namespace vramfit::vllm
