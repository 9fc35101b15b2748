#include "runtimes/pytorch/torch/distributed/fsdp_param_group.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/checked.h"
#include "runtimes/pytorch/torch/ops/multiprocessor.h"
#include "runtimes/pytorch/torch/tensor/context.h"

namespace vramfit::pytorch {
namespace {

/// Of rank 0, whose are never fewer: torch.chunk along the first dimension.
Dims shard_sizes(const Dims& sizes, std::int64_t gpus) {
  return sizes.with(0, (sizes[0] + gpus - 1) / gpus);
}

Tensor flat(Context& context, std::int64_t elements, ScalarType type,
            Category category = Category::Communication) {
  return empty(context, {elements}, type, category);
}

/// What a GPU gives of it.
std::int64_t gathered_bytes(const FsdpParam& parameter) {
  return parameter.sharded.numel() * element_size(parameter.unsharded.type());
}

// aten/src/ATen/native/cuda/TensorShape.cu: a kernel that copies many tensors finds what each of
// its blocks is to do in a table on the GPU, which is there until it was launched.
constexpr std::int64_t kBlockSize = 128;             // threads
constexpr std::int64_t kTileSize = 16 * kBlockSize;  // bytes that they copy at a time

void make_table(Context& context, std::int64_t entries) {
  empty(context, {entries}, ScalarType::Long, Category::Workspace);
}

/// split_with_sizes_copy_out_cuda_contiguous_no_cast, of what each GPU gives of each parameter: two
/// addresses, a size, where its blocks begin, and whose each block is.
void make_copy_out_table(Context& context, const std::vector<FsdpParam>& parameters,
                         std::int64_t gpus) {
  const auto splits = static_cast<std::int64_t>(parameters.size());
  std::int64_t num_blocks = 0;
  for (const FsdpParam& each : parameters) num_blocks += div_up(gathered_bytes(each), kTileSize);
  const std::int64_t max_blocks =
      context.multiprocessors * threads_per_multiprocessor(context.arch) / kBlockSize * 2;
  const std::int64_t iter_factor = div_up(num_blocks * gpus, max_blocks);
  const double root = std::ceil(std::sqrt(static_cast<double>(iter_factor)));
  const std::int64_t chunks_per_block = std::min(static_cast<std::int64_t>(root), gpus);
  const std::int64_t iters_per_chunk = div_up(iter_factor, chunks_per_block);
  std::int64_t launched = 0;
  for (const FsdpParam& each : parameters) {
    launched += div_up(gathered_bytes(each), kTileSize * iters_per_chunk);
  }
  make_table(context, 4 * splits + 1 + launched);
}

/// get_chunk_cat_metadata, of gradients that are put together in a type: an address, three sizes,
/// where bytes and blocks begin, and whose each block is.
void make_copy_in_table(Context& context, const std::vector<FsdpParam*>& parameters,
                        ScalarType type) {
  const auto tensors = static_cast<std::int64_t>(parameters.size());
  std::int64_t num_blocks = 0;
  for (const FsdpParam* each : parameters) {
    num_blocks += div_up(each->sharded.numel() * element_size(type), kTileSize);
  }
  make_table(context, 6 * tensors + 2 + num_blocks);
}

}  // namespace

Tensor FsdpParamGroup::shard_of(const Tensor& parameter, ScalarType stored) const {
  const Dims sizes = shard_sizes(parameter.sizes(), options_.gpus);
  Tensor sharded = pytorch::empty(context_, sizes, stored, Category::Parameters);
  sharded.impl()->requires_grad = parameter.impl()->requires_grad;
  return sharded;
}

void FsdpParamGroup::add(const Tensor& parameter, ScalarType stored) {
  parameters_.push_back({parameter, shard_of(parameter, stored)});
}

FsdpParam* FsdpParamGroup::find(const Tensor& parameter) {
  const auto own = std::find_if(parameters_.begin(), parameters_.end(), [&](const FsdpParam& one) {
    return one.unsharded.impl() == parameter.impl();
  });
  return own == parameters_.end() ? nullptr : &*own;
}

// foreach_all_gather: what is cast is cast together; types that differ are gathered as bytes.
void FsdpParamGroup::unshard() {
  if (all_gather_result_.defined() || unsharded_) return;
  context_.libraries.use_collectives();
  const Setting stream(context_.tape.stream, Stream::AllGatherCopyIn);
  std::int64_t cast_bytes = 0;
  std::int64_t bytes = 0;
  for (const FsdpParam& parameter : parameters_) {
    const std::int64_t own = gathered_bytes(parameter);
    bytes += own;
    if (parameter.unsharded.type() != parameter.sharded.type()) cast_bytes += own;
  }
  Tensor cast;
  if (cast_bytes > 0) cast = flat(context_, cast_bytes, ScalarType::Byte);
  all_gather_result_ = flat(context_, bytes * options_.gpus, ScalarType::Byte);
}

// foreach_all_gather_copy_out; without record_stream, a buffer is free as soon as nobody holds it.
void FsdpParamGroup::wait_for_unshard() {
  if (!all_gather_result_.defined()) return;
  const bool prefetches = state_ == State::Forward;
  Tensor previous;  // a local variable there, too: it goes when the function returns
  if (prefetches) previous = std::exchange(comm_.all_gather_state, {});
  for (const FsdpParam& parameter : parameters_) {
    const std::int64_t bytes = gathered_bytes(parameter) * options_.gpus;
    parameter.unsharded.impl()->storage->allocate_memory(static_cast<std::uint64_t>(bytes));
  }
  make_copy_out_table(context_, parameters_, options_.gpus);
  unsharded_ = true;
  if (prefetches) comm_.all_gather_state = all_gather_result_;
  all_gather_result_.reset();
}

void FsdpParamGroup::reshard() {
  if (state_ == State::Forward && !reshard_after_forward_) return;
  if (!std::exchange(unsharded_, false)) return;
  for (const FsdpParam& parameter : parameters_) {
    parameter.unsharded.impl()->storage->free_memory();
  }
}

void FsdpParamGroup::pre_forward() {
  state_ = State::Forward;
  unshard();
  wait_for_unshard();
}

void FsdpParamGroup::post_forward() {
  reshard();
  comm_.post_forward_order.push_back(this);
  state_ = State::Idle;
}

// The group that ran before it in forward is gathered already while this one is in use.
void FsdpParamGroup::pre_backward() {
  if (state_ == State::PreBackward) return;
  state_ = State::PreBackward;
  unshard();
  wait_for_unshard();
  const auto& order = comm_.post_forward_order;
  const auto self = std::find(order.begin(), order.end(), this);
  if (self != order.begin() && self != order.end()) (*std::prev(self))->unshard();
}

void FsdpParamGroup::post_backward() {
  state_ = State::PostBackward;
  std::vector<Tensor> gradients;
  std::vector<FsdpParam*> of;
  for (FsdpParam& parameter : parameters_) {
    Ref<TensorImpl>& grad = parameter.unsharded.impl()->grad;
    if (!grad) continue;
    gradients.emplace_back(std::move(grad));
    of.push_back(&parameter);
  }
  reshard();
  if (of.empty()) return;
  comm_.reduce_scatter_state.reset();
  reduce(std::move(gradients), of);
}

// foreach_reduce
void FsdpParamGroup::reduce(std::vector<Tensor> gradients, const std::vector<FsdpParam*>& of) {
  const ScalarType type =
      options_.mixed_precision ? options_.mixed_precision->reduce : gradients.front().type();
  std::int64_t elements = 0;  // of rows that are padded to as many for each GPU
  for (const FsdpParam* parameter : of) elements += parameter->sharded.numel();
  comm_.reduce_scatter_state = flat(context_, elements * options_.gpus, type);
  make_copy_in_table(context_, of, type);
  gradients.clear();
  const Setting stream(context_.tape.stream, Stream::ReduceScatter);
  Tensor output = flat(context_, elements, type, Category::Gradients);
  const ScalarType stored = of.front()->sharded.type();
  if (type != stored) output = flat(context_, elements, stored, Category::Gradients);
  for (const FsdpParam* parameter : of) {
    const Tensor& sharded = parameter->sharded;
    if (sharded.impl()->grad) continue;  // added to
    sharded.impl()->grad = as_strided(output, sharded.sizes(), sharded.strides()).ref();
  }
}

void FsdpParamGroup::finalize_backward() {
  if (state_ != State::PostBackward) post_backward();
  state_ = State::Idle;
  all_gather_result_.reset();  // prefetched for a backward that never came
}

}  // namespace vramfit::pytorch
