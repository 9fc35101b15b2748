#include "model/transformer/gradient_slots.h"

#include <algorithm>

#include "model/checked.h"
#include "model/memory/pool.h"
#include "model/ops/elementary_ops.h"

namespace vramfit {

Tensor gradient_in(OpContext& context, const Tensor& whole, const ParameterSpec& spec) {
  const std::int64_t padding = whole.stored()[0] - spec.stored[0];
  if (padding > 0) {
    const Shape shape = with_rows(spec.stored, padding);
    Tensor behind = Tensor::view(whole, whole.format().bytes(spec.stored.elements()), spec.name,
                                 whole.category(), whole.format(), shape, shape);
    context.device.run(FillNormal{behind, 0.0F, 0.0F, 0});
  }
  return Tensor::view(whole, 0, spec.name, whole.category(), whole.format(), spec.shape,
                      spec.stored);
}

GradientSlots::GradientSlots(OpContext& context, Weights& weights, const Units& units,
                             const Mesh& mesh)
    : context_(context), weights_(weights), units_(units), rank_(mesh.rank) {
  for (int unit = 0; unit < units.count(); ++unit) {
    std::uint64_t bytes = 0;
    for (const std::size_t i : units.used(unit)) bytes += room(weights.all()[i]);
    Slot& slot = slot_of(unit);
    slot.bytes = std::max(slot.bytes, bytes);
  }
}

std::uint64_t GradientSlots::room(const Parameter& parameter) const {
  if (!parameter.trained) return 0;
  return round_up(context_.precisions.gradients.bytes(parameter.storage->shard.whole.elements()),
                  Pool::kAlignment);
}

Tensor GradientSlots::whole(const Parameter& parameter) {
  std::uint64_t offset = 0;
  for (const std::size_t i : units_.used(unit_)) {
    const Parameter& member = weights_.all()[i];
    if (&member == &parameter) break;
    offset += room(member);
  }
  const Shape& shape = parameter.storage->shard.whole;
  return Tensor::view(slot_of(unit_).memory, offset, parameter.spec.name, Category::Gradients,
                      context_.precisions.gradients, shape, shape);
}

Tensor GradientSlots::place(Parameter& parameter) {
  Slot& to = slot_of(unit_);
  if (!to.memory) {
    to.memory = {context_.ledger,
                 "whole_gradients",
                 Category::Communication,
                 DType::Int8,
                 {static_cast<std::int64_t>(to.bytes)}};
  }
  // The unit that had the slot before is still being summed, perhaps.
  context_.device.run(Await{to.reduced});
  return gradient_in(context_, whole(parameter), parameter.spec);
}

void GradientSlots::reduce() {
  std::vector<PartAndWhole> sums;
  std::vector<bool> accumulate;
  for (const std::size_t i : units_.used(unit_)) {
    Parameter& parameter = weights_.all()[i];
    if (!parameter.gradient) continue;
    ShardStorage& storage = *parameter.storage;
    accumulate.push_back(static_cast<bool>(storage.gradient));
    if (!storage.gradient) {
      storage.gradient =
          context_.gradient(parameter.spec.name, storage.shard.part, storage.shard.part);
    }
    sums.push_back({own_part(storage.gradient, storage.shard), whole(parameter)});
    parameter.gradient.release();
  }
  if (sums.empty()) return;
  std::vector<PartOfSum> parts;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    parts.push_back({sums[i].whole, sums[i].part, accumulate[i]});
  }
  context_.device.run(ReduceScatter{std::move(parts), rank_, slot_of(unit_).reduced});
}

void GradientSlots::release() {
  for (Slot& slot : slots_) {
    context_.device.run(Await{slot.reduced});
    slot.memory.release();
  }
}

}  // namespace vramfit
