#pragma once

#include <vector>

#include "runtimes/pytorch/transformers/optimizers/kinds.h"

namespace vramfit::pytorch {

/// ZeroRedundancyOptimizer: each GPU keeps the states of whole parameters, steps those, and sends
/// them to all. This is the GPU that has the most.
///
/// torch/distributed/optim/zero_redundancy_optimizer.py, PyTorch 2.11.
class ZeroRedundancyOptimizer final : public Optimizer {
 public:
  ZeroRedundancyOptimizer(TorchOptimizer kind, std::vector<Tensor> parameters, std::int64_t gpus);
  void step() override { local_->step(); }
  bool keeps_its_states() const override { return local_->keeps_its_states(); }

 private:
  std::unique_ptr<Optimizer> local_;
};

}  // namespace vramfit::pytorch
