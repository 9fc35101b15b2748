#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "runtimes/pytorch/torch/tensor/scalar_type.h"
#include "runtimes/pytorch/torch/tensor/tensor.h"

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

  /// Whether the cast of this tensor is kept, the one that is, or null, and to keep one.
  static bool keeps_cast_of(const Tensor& tensor);
  const Tensor* cast_of(const Tensor& tensor) const;
  void keep(const Tensor& tensor, const Tensor& cast) { casts_.emplace_back(tensor, cast); }

 private:
  friend class AutocastScope;
  State state_;
  int nesting_ = 0;
  std::vector<std::pair<Tensor, Tensor>> casts_;  ///< a weight and its cast
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
