#pragma once

#include <array>

#include "model/ops/collective_ops.h"
#include "model/transformer/units.h"

namespace vramfit {

/// The gradient within `whole`, whose padding behind it becomes zero.
Tensor gradient_in(OpContext& context, const Tensor& whole, const ParameterSpec& spec);

/// Where a rank that keeps but its part of each gradient has those of one unit whole while backward
/// writes them, and those of the unit before while they are summed over the ranks: two slots, one
/// for attention's halves of blocks, one for MLPs' and the rest, each as large as its largest. They
/// are there from a backward pass's first gradient on.
class GradientSlots {
 public:
  /// All must outlive it.
  GradientSlots(OpContext& context, Weights& weights, const Units& units, const Mesh& mesh);

  /// The gradients that follow are this unit's.
  void enter(int unit) { unit_ = unit; }
  /// Where the whole gradient of a parameter of this unit goes.
  Tensor place(Parameter& parameter);
  /// The unit's gradients are written: adds their sums over the ranks to the parts that are kept.
  void reduce();
  /// Awaits all sums and frees the slots.
  void release();

 private:
  struct Slot {
    std::uint64_t bytes = 0;
    Tensor memory;
    Ticket reduced;
  };
  /// Embeddings and MLPs have even numbers; the head, whose is odd, is with them.
  Slot& slot_of(int unit) {
    return slots_[unit == units_.head() ? 0U : static_cast<std::size_t>(unit % 2)];
  }
  std::uint64_t room(const Parameter& parameter) const;
  Tensor whole(const Parameter& parameter);

  OpContext& context_;
  Weights& weights_;
  const Units& units_;
  const std::int64_t rank_;
  int unit_ = -1;
  std::array<Slot, 2> slots_;
};

}  // namespace vramfit
