#pragma once

#include <span>
#include <vector>

#include "model/ops/device.h"

namespace vramfit::bench {

/// All stored elements of a tensor of floating point, rounded to floats.
std::vector<float> download_floats(Device& device, const Tensor& from);

/// Rounds `values` to the first elements of a tensor of floating point; the rest of what it stores
/// becomes zero.
void upload_floats(Device& device, std::span<const float> values, const Tensor& to);

}  // namespace vramfit::bench
