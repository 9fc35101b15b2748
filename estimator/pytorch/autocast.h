#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "estimator/pytorch/scalar_type.h"
#include "estimator/pytorch/tensor.h"

namespace vramfit::pytorch {

/// torch.autocast("cuda", dtype): ops on its lists get their inputs cast, and casts of weights are
/// kept until the outermost scope ends.
///
/// Follows aten/src/ATen/autocast_mode.{h,cpp}, PyTorch 2.11.
class Autocast {
 public:
  using State = std::optional<ScalarType>;  ///< none: off

  const State& state() const { return state_; }
  bool enabled() const { return state_.has_value(); }

  /// cached_cast to the scope's type, for ops that run in 16 bits: matmul and its kin.
  Tensor lower(const Tensor& tensor);
  /// For ops that run in fp32: norms, softmax, pow, losses.
  Tensor upper(const Tensor& tensor) const;

 private:
  friend class AutocastScope;
  State state_;
  int nesting_ = 0;
  std::vector<std::pair<Tensor, Tensor>> cache_;  ///< a weight and its cast
};

/// Sets autocast, on or off, for a scope.
class AutocastScope {
 public:
  AutocastScope(Autocast& autocast, Autocast::State state);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  Autocast& autocast_;
  Autocast::State old_;
};

}  // namespace vramfit::pytorch
