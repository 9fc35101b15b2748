#pragma once

#include <initializer_list>

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// Python drops what a frame holds in the order of its first assignment, C++ in the other. Which
/// block the allocator takes next may hang on it.
inline void drop(std::initializer_list<Tensor*> locals) {
  for (Tensor* local : locals) local->reset();
}

}  // namespace vramfit::pytorch
