#pragma once

#include <string>
#include <vector>

#include "estimator/budget.h"
#include "model/dtype.h"

// What a GPU does not have, in words for notes. The memory that is said holds all the same.
namespace vramfit {

/// Arithmetic in the format that weights or activations are in.
std::vector<std::string> lacks(const Budget& gpu, DType format);

}  // namespace vramfit
