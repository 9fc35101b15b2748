#pragma once

#include <vector>

#include "runtimes/pytorch/torch/distributed/strategy.h"
#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

class FsdpParamGroup;

/// What the groups of a model share (FSDPCommContext).
struct FsdpCommContext {
  /// A gathered buffer that forward keeps until the next group has copied its own out.
  Tensor all_gather_state;
  /// What a group's gradients are summed from, kept until the next group's are.
  Tensor reduce_scatter_state;
  std::vector<FsdpParamGroup*> post_forward_order;  ///< of this forward
};

/// A parameter of which each GPU keeps a part of its rows, the same number, padded.
struct FsdpParam {
  Tensor unsharded;  ///< the module's, in what it computes in; has memory while gathered
  Tensor sharded;    ///< the optimizer's
};

/// Parameters that are gathered, freed and reduced together, over streams of their own.
///
/// torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py, _fsdp_param.py, _fsdp_collectives.py,
/// PyTorch 2.11.
class FsdpParamGroup {
 public:
  /// Takes a shard of each parameter, which is on the meta device. `comm` must outlive it.
  FsdpParamGroup(Context& context, FsdpCommContext& comm, const Distributed& options,
                 bool reshard_after_forward)
      : context_(context),
        comm_(comm),
        options_(options),
        reshard_after_forward_(reshard_after_forward) {}

  /// `stored`: what the shard is in.
  void add(const Tensor& parameter, ScalarType stored);
  Tensor shard_of(const Tensor& parameter, ScalarType stored) const;
  /// Null where the parameter is none of the group's.
  FsdpParam* find(const Tensor& parameter);
  bool empty() const { return parameters_.empty(); }
  const std::vector<FsdpParam>& parameters() const { return parameters_; }

  void pre_forward();
  void post_forward();
  void pre_backward();
  void post_backward();
  /// Also what has not run in backward has now: the root's.
  void finalize_backward();

  /// Between pre_backward and the end of backward, forward is a recomputation.
  bool in_backward() const { return state_ == State::PreBackward || state_ == State::PostBackward; }

 private:
  enum class State : std::uint8_t { Idle, Forward, PreBackward, PostBackward };
  void unshard();
  void wait_for_unshard();
  void reshard();
  void reduce(std::vector<Tensor> gradients, const std::vector<FsdpParam*>& of);

  Context& context_;
  FsdpCommContext& comm_;
  Distributed options_;
  bool reshard_after_forward_;
  std::vector<FsdpParam> parameters_;
  State state_ = State::Idle;
  bool unsharded_ = false;
  Tensor all_gather_result_;
};

}  // namespace vramfit::pytorch
