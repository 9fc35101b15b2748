#pragma once

#include <string>
#include <vector>

#include "estimator/budget.h"
#include "model/dtype.h"

// What a GPU does not have, in words for notes. The memory that is said holds all the same.
namespace vramfit {

/// A note where the GPU has no arithmetic in `format`.
std::vector<std::string> missing_formats(const Budget& gpu, DType format);

}  // namespace vramfit
