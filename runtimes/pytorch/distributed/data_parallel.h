#pragma once

#include <vector>

#include "runtimes/pytorch/modules/causal_lm.h"

namespace vramfit::pytorch {

/// What trains a model on several GPUs together, as the one sees it that takes the most.
class DataParallel {
 public:
  virtual ~DataParallel() = default;

  /// model.parameters() once it is wrapped, those that want a gradient.
  virtual std::vector<Tensor> trainable() const = 0;
  /// What the second step's forward begins with, and no other does.
  virtual void before_second_step() {}
  virtual void before_forward() {}
  virtual void after_forward(const CausalLm::Output& /*output*/) {}
  virtual void after_backward() {}
};

}  // namespace vramfit::pytorch
