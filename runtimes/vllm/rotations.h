#pragma once

#include <string>

#include "runtimes/vllm/config.h"
#include "runtimes/vllm/shape.h"

// Tables of rotations (vllm/model_executor/layers/rotary_embedding/).
namespace vramfit::vllm {

/// Those that layers share: of each kind of layer one, where kinds differ.
void add_rotations(Shape& shape, std::int64_t rows, std::int64_t dim, bool a_kind_each);

/// What rope_scaling makes of their rows, and of the longest request.
void take_scaling(Shape& shape, const Config& config);

/// What they are computed of, in the config's words (get_rope).
std::string rotations_of(const Config& config);

}  // namespace vramfit::vllm
