#pragma once

#include <vector>

#include "runtimes/pytorch/transformers/modules/causal_lm.h"

namespace vramfit::pytorch {

/// What trains a model on several GPUs together, as the one sees it that takes the most.
class DataParallel {
 public:
  virtual ~DataParallel() = default;

  /// model.parameters() once it is wrapped, those that want a gradient.
  virtual std::vector<Tensor> trainable() = 0;
  /// Steps of which none is like the one before it; later ones are like the last.
  virtual int distinct_steps() const { return 2; }
  virtual void before_forward() {}
  virtual void after_forward(const CausalLm::Output& /*output*/) {}
  virtual void after_backward() {}
};

}  // namespace vramfit::pytorch
