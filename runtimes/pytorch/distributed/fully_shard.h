#pragma once

#include <memory>

#include "runtimes/pytorch/distributed/data_parallel.h"
#include "runtimes/pytorch/distributed/fsdp_param_group.h"

namespace vramfit::pytorch {

/// fully_shard of each layer and of the model, which was made on the meta device and gets the
/// memory of its shards here (to_empty).
///
/// torch/distributed/fsdp/_fully_shard/_fsdp_state.py, PyTorch 2.11.
class FullyShard final : public DataParallel, public LayerHooks {
 public:
  /// The model must outlive it.
  FullyShard(Context& context, CausalLm& model, const Distributed& options);
  ~FullyShard() override;

  std::vector<Tensor> trainable() const override;
  void before_forward() override { root_.pre_forward(); }
  void after_forward(const CausalLm::Output& output) override;
  void after_backward() override;

  Tensor before_layer(std::size_t layer, const Tensor& hidden) override;
  void after_layer(std::size_t layer, const Tensor& hidden) override;

 private:
  Context& context_;
  CausalLm& model_;
  FsdpCommContext comm_;
  FsdpParamGroup root_;
  std::vector<std::unique_ptr<FsdpParamGroup>> layers_;
  Tensor untied_head_;  ///< to_empty gives a tied head a shard of its own, which nobody uses
};

}  // namespace vramfit::pytorch
