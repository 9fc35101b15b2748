#include "model/transformer/optimizer.h"

#include <utility>

#include "model/errors.h"
#include "model/optimizer/dynamic_codes.h"

namespace vramfit {
namespace {

/// What of a parameter this rank updates.
struct Own {
  Tensor value;
  Tensor gradient;
};

}  // namespace

void Optimizer::create_slots(OpContext& context, const Weights& weights) {
  const std::vector<const Parameter*> trained = weights.trained();
  std::int64_t elements = 0;
  for (const Parameter* p : trained) elements += p->spec.stored.elements();
  const HostSlots slots(trained.front()->value.format(), elements);
  const std::uint64_t bytes =
      slots.bytes() + static_cast<std::uint64_t>(kind_.moments) *
                          context.precisions.optimizer_states.bytes(elements);
  const std::uint64_t room = context.ledger.of(MemorySpace::Host).capacity();
  if (bytes > room) {
    throw BadInput(std::string("optimizer: ") + kind_.name + " keeps " + std::to_string(bytes) +
                   " bytes in the host's memory; this machine has " + std::to_string(room) +
                   " to spare: adamw-8bit, or --lora 16");
  }
  slots_ = context.bytes("host_slots", slots.bytes(), MemorySpace::Host);
}

Optimizer::State Optimizer::state_of(OpContext& context, const Parameter& parameter) const {
  const Name& name = parameter.spec.name;
  const Shape& shape = parameter.storage ? parameter.storage->shard.part : parameter.spec.shape;
  const Shape& stored = parameter.storage ? parameter.storage->shard.part : parameter.spec.stored;
  State s;
  if (kind_.master) s.master = context.master_weight(name.part("master"), shape, stored);
  if (kind_.keeps_momentum())
    s.momentum = context.moment(name.part("m"), shape, stored, kind_.space());
  if (kind_.keeps_variance()) {
    s.variance = context.moment(name.part("v"), variance_shape(kind_, shape),
                                variance_shape(kind_, stored), kind_.space());
  }
  if (kind_.has_scales()) {
    const std::int64_t blocks = (stored.elements() + kDynamicBlock - 1) / kDynamicBlock;
    s.scales = context.moment_scales(name.part("scales"), {kind_.moments, blocks});
  }
  return s;
}

void Optimizer::create_states(OpContext& context, const Weights& weights) {
  if (!states_.empty()) return;
  if (kind_.on_host) create_slots(context, weights);
  states_.reserve(weights.all().size());
  for (const Parameter& p : weights.all()) {
    states_.push_back(p.trained ? state_of(context, p) : State{});
  }
}

std::vector<const Tensor*> Optimizer::states() const {
  std::vector<const Tensor*> born;
  for (const State& s : states_) {
    for (const Tensor* tensor : {&s.master, &s.momentum, &s.variance, &s.scales}) {
      if (*tensor) born.push_back(tensor);
    }
  }
  return born;
}

void Optimizer::step(OpContext& context, const Weights& weights,
                     const std::vector<std::size_t>& parameters, const Mesh& mesh,
                     const Tensor* scaler, int step) {
  const auto or_null = [](const Tensor& tensor) { return tensor ? &tensor : nullptr; };
  std::vector<Own> own;
  std::vector<ParameterUpdate> updates;
  own.reserve(parameters.size());
  updates.reserve(parameters.size());
  for (const std::size_t number : parameters) {
    const Parameter& p = weights.all()[number];
    const State& s = states_[number];
    own.push_back({p.own_value(), p.own_gradient()});
    updates.push_back({&own.back().value, &own.back().gradient, or_null(s.master),
                       or_null(s.momentum), or_null(s.variance), p.spec.decays, or_null(s.scales)});
  }
  Tensor table = context.bytes(kOptimizerTable, optimizer_table_bytes(updates));
  Tensor sums;
  const std::uint64_t sums_bytes = factor_sums_bytes(kind_, updates);
  if (sums_bytes > 0) sums = context.bytes("factor_sums", sums_bytes);
  // A rank that sees but its part of the gradients asks the others whether theirs are finite.
  const bool asks = scaler != nullptr && (mesh.shards_states() || mesh.pipelined());
  if (asks) {
    const Shape one = {1};
    const Tensor overflow = Tensor::view(*scaler, LossScale::kOverflow * sizeof(float), "overflow",
                                         scaler->category(), scaler->format(), one, one);
    Ticket ticket;
    context.device.run(FindOverflow{kind_, updates, *scaler, table});
    context.device.run(AllReduce{{&overflow}, mesh.ranks, ticket});
    context.device.run(Await{ticket});
  }
  context.device.run(OptimizerStep{kind_, settings_, updates, step, scaler, table, or_null(sums),
                                   or_null(slots_), asks});
}

}  // namespace vramfit
