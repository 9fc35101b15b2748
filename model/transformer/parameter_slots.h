#pragma once

#include <array>

#include "model/ops/collective_ops.h"
#include "model/transformer/units.h"

namespace vramfit {

/// Where a rank that keeps but its part of each parameter has one unit whole while it runs, and the
/// next one while it is gathered: two slots of the largest unit's size, which units take in turn.
/// Slots are there from the first unit of the first pass on; the one that the first block does not
/// have is freed in between, from backward's end to the next forward.
class ParameterSlots {
 public:
  /// All must outlive it.
  ParameterSlots(OpContext& context, Weights& weights, const Units& units, const Mesh& mesh);

  /// The unit's parameters are whole for the ops that follow, and `next` is on its way; -1: none
  /// is, and its slot's memory is freed until the next is.
  void acquire(int unit, int next);
  /// Those of the first block, as they are now, are on their way: its slot is there already.
  void gather_ahead();

 private:
  struct Slot {
    Tensor memory;
    int unit = -1;  ///< -1: nobody's
    Ticket arrives;
  };
  Slot& slot_of(int unit) { return slots_[static_cast<std::size_t>(unit % 2)]; }
  void gather(int unit);
  void empty(Slot& slot);
  /// The parameters of the slot's unit are no longer whole.
  void let_go(const Slot& slot);

  OpContext& context_;
  Weights& weights_;
  const Units& units_;
  const std::int64_t ranks_;
  std::uint64_t bytes_ = 0;  ///< of the largest unit
  std::array<Slot, 2> slots_;
};

}  // namespace vramfit
