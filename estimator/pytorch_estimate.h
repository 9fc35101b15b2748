#pragma once

#include "estimator/estimate.h"

namespace vramfit::pytorch {

/// The estimate of a request for PyTorch's runtime; see vramfit::estimate.
Estimate estimate(const Request& request);

/// The verdict alone, and the bytes that blocks take at most.
bool fits(const Request& request);
std::uint64_t least_bytes(const Request& request);

}  // namespace vramfit::pytorch
