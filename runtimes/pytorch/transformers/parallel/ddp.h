#pragma once

#include "runtimes/pytorch/torch/distributed/reducer.h"
#include "runtimes/pytorch/transformers/parallel/data_parallel.h"

namespace vramfit::pytorch {

/// torch/nn/parallel/distributed.py, PyTorch 2.11: every GPU has the whole model.
class DistributedDataParallel final : public DataParallel {
 public:
  /// The model must outlive it.
  DistributedDataParallel(Context& context, CausalLm& model, const Distributed& options);

  std::vector<Tensor> trainable() override { return model_.trainable(); }
  /// The second rebuilds the buckets.
  int distinct_steps() const override { return 3; }
  void before_forward() override;

 private:
  CausalLm& model_;
  Reducer reducer_;
};

}  // namespace vramfit::pytorch
