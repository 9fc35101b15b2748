#pragma once

#include <memory>

#include "runtimes/pytorch/torch/distributed/fsdp_param_group.h"
#include "runtimes/pytorch/transformers/parallel/data_parallel.h"

namespace vramfit::pytorch {

/// fully_shard of each layer and of the model. Where that was made on the meta device it gets the
/// memory of its shards here (to_empty); where it lies on the GPU, as from_pretrained left it, they
/// take its place. Accelerate shards the embedding and the head with its norm by themselves, too,
/// and takes the model from the host.
///
/// torch/distributed/fsdp/_fully_shard/_fsdp_state.py, PyTorch 2.11; accelerate/utils/fsdp_utils.py
/// (fsdp2_prepare_model), 1.15.
class FullyShard final : public DataParallel, public ModuleHooks {
 public:
  /// The model must outlive it.
  FullyShard(Context& context, CausalLm& model, const Distributed& options);
  ~FullyShard() override;

  std::vector<Tensor> trainable() override;
  void before_forward() override { pre_forward(root_); }
  void after_forward(const CausalLm::Output& output) override;
  void after_backward() override;

  void before_embedding() override { pre_forward(embeds_with_head() ? head_ : embedding_); }
  void after_embedding(const Tensor& embeds) override { post_forward(embedding_, embeds); }
  Tensor before_layer(std::size_t layer, const Tensor& hidden) override;
  void after_layer(std::size_t layer, const Tensor& hidden) override;
  Tensor before_head(const Tensor& hidden) override;
  void after_head(const Tensor& logits) override { post_forward(head_, logits); }

 private:
  using Group = FsdpParamGroup;
  using Modules = std::vector<CausalLm::NamedModule>;
  struct Members {
    Group* group;
    std::vector<const CausalLm::NamedModule*> modules;
  };
  /// From the bottom up: layers, then the rest.
  std::vector<Members> by_group(const Modules& modules);
  void to_empty(const Modules& modules);
  void take_from_host(const Modules& modules);
  void shard_in_place(const Modules& modules);
  Group& group_of(const CausalLm::NamedModule& named);
  /// Null where it was added now: a parameter of two modules belongs to the first.
  FsdpParam* add(Group& group, const Tensor& parameter);
  ScalarType stored(const Tensor& parameter) const;
  /// Root, embedding, layers, head: the order of modules.
  std::vector<Group*> groups();
  /// Accelerate's: a tied embedding is in the head's group, which is gathered for it.
  bool embeds_with_head() const { return options_.by_accelerate && model_.is_tied(); }
  void pre_forward(Group& group);
  void post_forward(Group& group, const Tensor& output);

  Context& context_;
  CausalLm& model_;
  const Distributed options_;
  FsdpCommContext comm_;
  // Those without parameters do nothing: of these two Accelerate's alone have some.
  Group root_;
  Group embedding_;
  Group head_;
  std::vector<std::unique_ptr<Group>> layers_;
};

}  // namespace vramfit::pytorch
