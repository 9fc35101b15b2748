#include "runtimes/pytorch/transformers/parallel/ddp.h"

#include <deque>
#include <unordered_set>

#include "runtimes/pytorch/torch/tensor/context.h"

namespace vramfit::pytorch {
namespace {

constexpr std::uint64_t kBroadcastBytes = std::uint64_t{250} << 20;

/// flatten_dense_tensors: one tensor is its own flat memory.
Tensor flatten(Context& context, const Bucket& bucket) {
  if (bucket.size() == 1) return bucket.front();
  return empty(context, {numel(bucket)}, bucket.front().type(), Category::Communication);
}

/// broadcast_coalesced of torch/csrc/distributed/c10d/comm.cpp: two are under way at most.
void broadcast_coalesced(Context& context, const std::vector<Tensor>& tensors) {
  constexpr std::size_t kInFlight = 2;
  std::deque<Tensor> in_flight;
  for (const Bucket& bucket : assign_buckets(tensors, {kBroadcastBytes})) {
    if (in_flight.size() == kInFlight) in_flight.pop_front();
    in_flight.push_back(flatten(context, bucket));
  }
  while (!in_flight.empty()) in_flight.pop_front();
}

std::vector<Tensor> buffers_of(CausalLm& model) {
  std::vector<Tensor> all;
  for (const Tensor* buffer : model.buffers()) all.push_back(*buffer);
  return all;
}

/// Module.named_parameters(), which tells one that two modules have once.
std::vector<Tensor> named_parameters(CausalLm& model) {
  std::vector<Tensor> all;
  std::unordered_set<const TensorImpl*> told;
  for (const CausalLm::NamedModule& named : model.named_modules()) {
    for (const Tensor& parameter : parameters_of(named)) {
      if (told.insert(parameter.impl()).second) all.push_back(parameter);
    }
  }
  return all;
}

/// _sync_module_states: what rank 0 has goes to all.
void sync_module_states(Context& context, CausalLm& model) {
  context.libraries.use_collectives();
  std::vector<Tensor> states = named_parameters(model);
  for (const Tensor& buffer : buffers_of(model)) states.push_back(buffer);
  broadcast_coalesced(context, states);
}

/// The model, once all have it.
CausalLm& synced(Context& context, CausalLm& model) {
  sync_module_states(context, model);
  return model;
}

}  // namespace

DistributedDataParallel::DistributedDataParallel(Context& context, CausalLm& model,
                                                 const Distributed& options)
    : model_(synced(context, model)), reducer_(context, model.trainable(), options) {}

// _pre_forward, _sync_buffers
void DistributedDataParallel::before_forward() {
  reducer_.rebuild_buckets();
  const std::vector<Tensor> buffers = buffers_of(model_);
  if (!buffers.empty()) broadcast_coalesced(buffers.front().context(), buffers);
}

}  // namespace vramfit::pytorch
