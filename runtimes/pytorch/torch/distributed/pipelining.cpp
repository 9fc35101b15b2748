#include "runtimes/pytorch/torch/distributed/pipelining.h"

#include <algorithm>

#include "runtimes/pytorch/torch/autograd/engine.h"
#include "runtimes/pytorch/torch/tensor/context.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

Tensor message(Context& context, std::int64_t elements, ScalarType type) {
  return empty(context, {elements}, type, Category::Communication);
}

/// A pickled tuple of a tensor on the meta device: 111 bytes where this was looked at, of the 512
/// that the allocator gives at least.
constexpr std::int64_t kPickled = 111;

}  // namespace

std::vector<PipelinePass> passes_of(PipelineSchedule schedule, std::int64_t stage,
                                    std::int64_t stages, std::int64_t micro_batches) {
  using Kind = PipelinePass::Kind;
  const bool alternates = schedule == PipelineSchedule::OneForwardOneBackward;
  const std::int64_t warmup = alternates ? std::min(micro_batches, stages - stage) : micro_batches;
  std::vector<PipelinePass> passes;
  for (std::int64_t i = 0; i < warmup; ++i) passes.push_back({Kind::Forward, i});
  for (std::int64_t i = 0; i < micro_batches; ++i) {
    passes.push_back({Kind::Backward, i});
    if (warmup + i < micro_batches) passes.push_back({Kind::Forward, warmup + i});
  }
  return passes;
}

void PipelineStage::begin_step(const Tensor& input, const Dims& received, ScalarType type) {
  fwd_cache_.clear();
  while (!output_chunks_.empty()) output_chunks_.pop_back();
  if (initialized_) return;
  initialized_ = true;
  // _get_init_p2p_neighbors_ops: both are held until the stage is there.
  context_.libraries.use_collectives();
  const Tensor recv_tensor = message(context_, 1, ScalarType::Float);
  const Tensor send_tensor = message(context_, 1, ScalarType::Float);
  infer_shapes(input, received, type);
  make_buffers(received, type);
}

// _shape_inference: the submodule runs once on zeros.
void PipelineStage::infer_shapes(const Tensor& input, const Dims& received, ScalarType type) {
  if (!place_.is_first()) {  // recv_object_list
    message(context_, 1, ScalarType::Long);
    message(context_, kPickled, ScalarType::Byte);
  }
  const Tensor zeros = place_.is_first()
                           ? empty(context_, input.sizes(), input.type(), Category::Inputs)
                           : empty(context_, received, type, Category::Communication);
  const Setting no_grad(context_.grad_enabled, false);
  const Tensor output = submodule_(zeros);
  sent_sizes_ = output.sizes();
  sent_type_ = output.type();
  if (!place_.is_last()) send_shapes();
}

// send_object_list
void PipelineStage::send_shapes() {
  const Tensor object = message(context_, kPickled, ScalarType::Byte);
  Tensor size = message(context_, 1, ScalarType::Long);
  const Tensor sizes = message(context_, 1, ScalarType::Long);
  size.reset();
}

// One a micro-batch, for good.
void PipelineStage::make_buffers(const Dims& received, ScalarType type) {
  for (std::int64_t i = 0; i < place_.micro_batches && !place_.is_first(); ++i) {
    received_.push_back(empty(context_, received, type, Category::Communication));
    received_.back().impl()->requires_grad = true;
  }
  for (std::int64_t i = 0; i < place_.micro_batches && !place_.is_last(); ++i) {
    received_gradients_.push_back(
        empty(context_, sent_sizes_, sent_type_, Category::Communication));
  }
}

void PipelineStage::forward(std::int64_t micro_batch, const Tensor& input) {
  const auto i = static_cast<std::size_t>(micro_batch);
  output_ = submodule_(place_.is_first() ? input : received_[i]);
  fwd_cache_.emplace(micro_batch, output_);
  if (!place_.is_last()) {
    sends_output_ = output_;
    return;
  }
  output_chunks_.push_back(output_);
  internal_losses_.push_back(loss_(output_));
}

// GPipe's ops are one variable: what it sent goes as it looks for what it receives.
void PipelineStage::backward(std::int64_t micro_batch) {
  const auto i = static_cast<std::size_t>(micro_batch);
  if (place_.schedule == PipelineSchedule::GPipe) {
    sends_output_.reset();
    sends_gradient_.reset();
  }
  Tensor sends;
  {
    const Tensor stage_output = std::move(fwd_cache_.at(micro_batch));
    fwd_cache_.erase(micro_batch);
    if (place_.is_last()) {
      pytorch::backward(internal_losses_[i]);
      stage_output.impl()->grad_fn.reset();  // detach_
    } else {
      const Setting thread(context_.backward_thread, true);
      pytorch::backward(stage_output, received_gradients_[i]);
    }
    if (!place_.is_first()) sends = Tensor(std::move(received_[i].impl()->grad));
  }
  sends_gradient_ = std::move(sends);
}

void PipelineStage::end_step() {
  internal_losses_.clear();
  output_.reset();
  sends_output_.reset();
  sends_gradient_.reset();
  if (!place_.is_last()) return;
  // merge_chunks: torch.cat, also of one.
  const Dims& sizes = output_chunks_.front().sizes();
  empty(context_, sizes.with(0, sizes[0] * place_.micro_batches), output_chunks_.front().type());
}

}  // namespace vramfit::pytorch
