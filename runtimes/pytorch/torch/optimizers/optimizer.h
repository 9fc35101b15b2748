#pragma once

#include <utility>
#include <vector>

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// Keeps its states from the first step on.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// optimizer.step(). What it does for a parameter is done by that one's layer (LayerScope).
  virtual void step() = 0;
  /// Whether it leaves the states as memory that it found, so that a step can be played again.
  virtual bool keeps_its_states() const { return true; }
  /// optimizer.zero_grad(set_to_none=True)
  void zero_grad();

 protected:
  explicit Optimizer(std::vector<Tensor> parameters) : parameters_(std::move(parameters)) {}
  Tensor state_like(const Tensor& parameter) const {
    return state_like(parameter, parameter.type());
  }
  Tensor state_like(const Tensor& parameter, ScalarType type) const;
  std::vector<Tensor> parameters_;
};

}  // namespace vramfit::pytorch
