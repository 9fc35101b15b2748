#pragma once

#include <string>
#include <vector>

#include "estimator/budget.h"
#include "model/dtype.h"
#include "runtimes/pytorch/tensor/release.h"

// What a GPU does not have, in words for notes. The memory that is said holds all the same.
namespace vramfit {

/// Arithmetic in the format that weights or activations are in.
std::vector<std::string> lacks(const Budget& gpu, DType format);

/// Code in the release's build of PyTorch.
std::vector<std::string> lacks(const Budget& gpu, const pytorch::Release& release);

}  // namespace vramfit
