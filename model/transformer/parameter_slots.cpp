#include "model/transformer/parameter_slots.h"

#include <algorithm>

#include "model/checked.h"
#include "model/memory/pool.h"

namespace vramfit {
namespace {

/// A tensor that is gathered, and how.
struct Gathered {
  const Tensor& part;
  Tensor& view;
  Format format;
  Shape shape;
  Shape stored;
  Shard shard;

  std::uint64_t room() const {
    return round_up(room_bytes(format, shard, stored.elements()), Pool::kAlignment);
  }
};

/// Calls `body` with each tensor of a parameter that is cut.
template <typename Body>
void for_each_tensor(Parameter& parameter, const Body& body) {
  ShardStorage& storage = *parameter.storage;
  const ParameterSpec& spec = parameter.spec;
  body(Gathered{storage.value, parameter.value, storage.value.format(), spec.shape, spec.stored,
                storage.shard});
  if (!storage.scales) return;
  const Shape rows = {spec.stored[0]};
  body(Gathered{storage.scales,
                parameter.scales,
                DType::Fp32,
                rows,
                rows,
                {{storage.shard.part[0]}, {storage.shard.whole[0]}, storage.shard.first}});
}

}  // namespace

ParameterSlots::ParameterSlots(OpContext& context, Weights& weights, const Units& units,
                               const Mesh& mesh)
    : context_(context), weights_(weights), units_(units), ranks_(mesh.ranks) {
  for (int unit = 0; unit < units.count(); ++unit) {
    std::uint64_t bytes = 0;
    for (const std::size_t i : units.used(unit)) {
      for_each_tensor(weights.all()[i], [&](const Gathered& one) { bytes += one.room(); });
    }
    bytes_ = std::max(bytes_, bytes);
  }
}

void ParameterSlots::acquire(int unit, int next) {
  if (slot_of(unit).unit != unit) gather(unit);
  if (next < 0) {
    empty(slot_of(unit + 1));
  } else if (slot_of(next).unit != next) {
    gather(next);
  }
  context_.device.run(Await{slot_of(unit).arrives});
}

void ParameterSlots::gather_ahead() { gather(Units::of_block(0)); }

void ParameterSlots::empty(Slot& slot) {
  // Nothing is on its way to what is freed.
  context_.device.run(Await{slot.arrives});
  let_go(slot);
  slot = {};
}

void ParameterSlots::let_go(const Slot& slot) {
  if (slot.unit < 0) return;
  for (const std::size_t i : units_.used(slot.unit)) {
    weights_.all()[i].value.release();
    weights_.all()[i].scales.release();
  }
}

void ParameterSlots::gather(int unit) {
  Slot& slot = slot_of(unit);
  if (!slot.memory) {
    slot.memory = {context_.ledger,
                   "gathered_parameters",
                   Category::Communication,
                   DType::Int8,
                   {static_cast<std::int64_t>(bytes_)}};
  }
  let_go(slot);
  slot.unit = unit;
  // What stands behind each other in a whole comes in this order: see runs_of.
  std::array<std::vector<PartAndWhole>, 3> exchanges;
  std::uint64_t offset = 0;
  for (const std::size_t i : units_.used(unit)) {
    for_each_tensor(weights_.all()[i], [&](const Gathered& one) {
      const auto room = static_cast<std::int64_t>(one.room());
      const Tensor memory = Tensor::view(slot.memory, offset, one.part.name(),
                                         Category::Communication, DType::Int8, {room}, {room});
      one.view = Tensor::view(slot.memory, offset, one.part.name(), Category::Parameters,
                              one.format, one.shape, one.stored);
      std::vector<PartAndWhole> runs = runs_of(one.part, memory, one.stored.elements(), ranks_);
      for (std::size_t run = 0; run < runs.size(); ++run) {
        exchanges[run].push_back(std::move(runs[run]));
      }
      offset += one.room();
    });
  }
  for (const std::vector<PartAndWhole>& exchange : exchanges) {
    if (exchange.empty()) continue;
    std::vector<PartOfWhole> parts;
    for (const PartAndWhole& one : exchange) parts.push_back({one.part, one.whole});
    context_.device.run(AllGather{std::move(parts), slot.arrives});
  }
}

}  // namespace vramfit
