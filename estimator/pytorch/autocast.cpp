#include "estimator/pytorch/autocast.h"

#include <algorithm>

#include "estimator/pytorch/ops/elementwise.h"

namespace vramfit::pytorch {

// cached_cast: only casts of fp32 leaves that want a gradient are kept, views not.
Tensor Autocast::lower(const Tensor& tensor) {
  if (!state_ || !tensor.defined() || !is_floating(tensor.type()) || tensor.type() == *state_) {
    return tensor;
  }
  const bool cacheable = tensor.type() == ScalarType::Float && tensor.impl()->requires_grad;
  if (!cacheable) return to(tensor, *state_);
  const auto found = std::find_if(cache_.begin(), cache_.end(), [&](const auto& entry) {
    return entry.first.impl() == tensor.impl();
  });
  if (found != cache_.end()) return found->second;
  return cache_.emplace_back(tensor, to(tensor, *state_)).second;
}

Tensor Autocast::upper(const Tensor& tensor) const {
  if (!state_ || !tensor.defined() || !is_half(tensor.type())) return tensor;
  return to(tensor, ScalarType::Float);
}

AutocastScope::AutocastScope(Autocast& autocast, Autocast::State state)
    : autocast_(autocast), old_(autocast.state_) {
  autocast_.state_ = state;
  ++autocast_.nesting_;
}

// torch/amp/autocast_mode.py, __exit__: the cache goes with the outermost scope.
AutocastScope::~AutocastScope() {
  autocast_.state_ = old_;
  if (--autocast_.nesting_ == 0) autocast_.cache_.clear();
}

}  // namespace vramfit::pytorch
