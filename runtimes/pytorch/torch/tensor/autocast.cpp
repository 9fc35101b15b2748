#include "runtimes/pytorch/torch/tensor/autocast.h"

#include <algorithm>

namespace vramfit::pytorch {

// cached_cast: only casts of fp32 leaves that want a gradient are kept, views not.
bool Autocast::keeps_cast_of(const Tensor& tensor) {
  return tensor.type() == ScalarType::Float && tensor.impl()->requires_grad;
}

const Tensor* Autocast::cast_of(const Tensor& tensor) const {
  const auto found = std::find_if(casts_.begin(), casts_.end(), [&](const auto& entry) {
    return entry.first.impl() == tensor.impl();
  });
  return found == casts_.end() ? nullptr : &found->second;
}

AutocastScope::AutocastScope(Autocast& autocast, Autocast::State state)
    : autocast_(autocast), old_(autocast.state_) {
  autocast_.state_ = state;
  ++autocast_.nesting_;
}

// torch/amp/autocast_mode.py, __exit__: the cache goes with the outermost scope.
AutocastScope::~AutocastScope() {
  autocast_.state_ = old_;
  if (--autocast_.nesting_ == 0) autocast_.casts_.clear();
}

}  // namespace vramfit::pytorch
